// SPDX-License-Identifier: Apache-2.0
// What the gateway writes it can read, whatever is in it.
#include <commensal/base/protocol/testing/record_property.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/act_log.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/invitations.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>

namespace commensal::gateway {
namespace {

using protocol::testing::expect_written_is_read;

TEST(GatewayRecords, WhatIsWrittenIsRead) {
  expect_written_is_read<Account>();
  expect_written_is_read<Act>();
  expect_written_is_read<Invitation>();
  expect_written_is_read<Token>();
  expect_written_is_read<ModelVersion>();
  expect_written_is_read<ReceiptRecord>();
  expect_written_is_read<RolloutEntry>();
}

// The fault: a record with more fields kept its version, and what was written before was "damaged".
TEST(GatewayRecords, WhatAnotherVersionWroteIsCalledThat) {
  auto bytes = *protocol::encode_stored(RolloutEntry{});
  bytes[0] = 1;
  const auto entry = protocol::decode_stored<RolloutEntry>(bytes);
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().message,
            "rollout: version 1, expected 2: another version of this program wrote it; use that, "
            "or another folder");
}

}  // namespace
}  // namespace commensal::gateway
