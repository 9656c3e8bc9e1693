// SPDX-License-Identifier: Apache-2.0
// What either party of a job writes it can read, whatever is in it.
#include <commensal/base/protocol/testing/record_property.hpp>
#include <commensal/verify/rollout/record.hpp>

namespace commensal::rollout {
namespace {

using protocol::testing::expect_written_is_read;

TEST(RolloutRecords, WhatIsWrittenIsRead) {
  expect_written_is_read<JobRecord>();
  expect_written_is_read<receipt::StepTask>();
  expect_written_is_read<receipt::Opening>();
  expect_written_is_read<receipt::Assignment>(4000);
  expect_written_is_read<StepRecord>();
}

}  // namespace
}  // namespace commensal::rollout
