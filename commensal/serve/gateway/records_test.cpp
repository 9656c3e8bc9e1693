// SPDX-License-Identifier: Apache-2.0
// What the gateway writes it can read, whatever is in it.
#include <commensal/base/protocol/testing/record_property.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>

namespace commensal::gateway {
namespace {

using protocol::testing::expect_written_is_read;

TEST(GatewayRecords, WhatIsWrittenIsRead) {
  expect_written_is_read<Account>();
  expect_written_is_read<ModelVersion>();
  expect_written_is_read<ReceiptRecord>();
  expect_written_is_read<RolloutEntry>();
}

}  // namespace
}  // namespace commensal::gateway
