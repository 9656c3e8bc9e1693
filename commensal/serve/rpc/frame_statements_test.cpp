// SPDX-License-Identifier: Apache-2.0
// What a provider shows of itself, and to whom.
#include <gmock/gmock.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/rpc/frame.hpp>

namespace commensal::rpc {
namespace {

using ::testing::HasSubstr;

core::Result<ToGateway> again(const Statements& message) {
  return from_frame<ToGateway>(to_frame(ToGateway(message)));
}

TEST(FrameOfStatements, HasAsManyAsAProviderMayShow) {
  core::CounterRng rng(1);
  protocol::PrivacyStatement one;
  one.privacy_class = "medical";
  one = protocol::sign_statement(crypto::SecretKey::generate(rng), one);
  Statements message;
  EXPECT_TRUE(std::get<Statements>(*again(message)).items.empty());
  message.items.assign(limits::kPrivacyStatementsMax, one);
  const auto read = again(message);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Statements>(*read).items, message.items);
  message.items.push_back(one);
  EXPECT_THAT(again(message).error().message, HasSubstr("17 statements, at most 16"));
  message.items.assign(1, one);
  message.items[0].privacy_class = "no class";
  EXPECT_THAT(again(message).error().message, HasSubstr("'no class', expected 1 to 32"));
}

TEST(FrameOfStatements, IsSaidFromVersion013On) {
  for (const char* version : {"", "0.1", "0.1.2", "0.1.2.9", "x"})
    EXPECT_FALSE(knows_statements(version)) << version;
  for (const char* version : {"0.1.3", "0.2", "1"}) EXPECT_TRUE(knows_statements(version));
  EXPECT_TRUE(knows_statements(kVersion));
}

}  // namespace
}  // namespace commensal::rpc
