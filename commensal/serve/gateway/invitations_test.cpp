// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/invitations.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using protocol::Amount;

class InvitationsOf : public ::testing::Test {
 protected:
  /// One use, written.
  ErrorCode use(const std::string& code) {
    auto used = invitations_.use(code);
    if (!used) return used.error().code;
    EXPECT_EQ(used->credit, Amount(7));
    EXPECT_TRUE(store_.apply(used->writes));
    return ErrorCode::kInternal;
  }

  store::MemoryStore store_;
  core::CounterRng rng_{1};
  core::ManualClock clock_;
  Invitations invitations_{store_, rng_, clock_};
};

TEST_F(InvitationsOf, AreGoodForSoManyUsesAndSoLong) {
  const auto twice = invitations_.make({.label = "twice", .uses_left = 2, .credit = Amount(7)});
  ASSERT_TRUE(twice) << twice.error().message;
  EXPECT_EQ(twice->size(), 64u);
  ASSERT_TRUE(invitations_.use(*twice));  // that is not written uses nothing up
  EXPECT_EQ(use(*twice), ErrorCode::kInternal);
  EXPECT_EQ(use(*twice), ErrorCode::kInternal);
  EXPECT_EQ(use(*twice), ErrorCode::kPermissionDenied);
  EXPECT_EQ(invitations_.list()->at(0).uses_left, 0u);
  const auto brief = invitations_.make({.label = "brief", .expires_ms = 50, .credit = Amount(7)});
  EXPECT_EQ(use(*brief), ErrorCode::kInternal);
  const auto late = invitations_.make({.label = "late", .expires_ms = 50, .credit = Amount(7)});
  clock_.advance_ms(50);
  EXPECT_EQ(invitations_.use(*late).error().message, "the invitation has expired: ask for another");
  EXPECT_EQ(use("no code"), ErrorCode::kPermissionDenied);
  EXPECT_EQ(use(""), ErrorCode::kPermissionDenied);
}

TEST_F(InvitationsOf, EndAndMakeRoom) {
  const auto open = invitations_.make({.label = "open", .credit = Amount(7)});
  EXPECT_EQ(invitations_.make({.label = "open"}).error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(invitations_.make({.label = "a b"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(invitations_.make({.label = "none", .uses_left = 0}).error().code,
            ErrorCode::kInvalidArgument);
  ASSERT_TRUE(invitations_.end("open"));
  EXPECT_EQ(use(*open), ErrorCode::kPermissionDenied);
  EXPECT_EQ(invitations_.end("open").error().code, ErrorCode::kNotFound);
  for (std::size_t i = 0; i < limits::kInvitationsMax; ++i) {
    const std::int64_t expires_ms = i == 3 ? 50 : 0;
    ASSERT_TRUE(invitations_.make({.label = std::to_string(i), .expires_ms = expires_ms})) << i;
  }
  EXPECT_EQ(invitations_.make({.label = "more"}).error().code, ErrorCode::kResourceExhausted);
  clock_.advance_ms(50);
  EXPECT_TRUE(invitations_.make({.label = "more"}));
  EXPECT_EQ(invitations_.make({.label = "yet"}).error().code, ErrorCode::kResourceExhausted);
}

TEST_F(InvitationsOf, TheStoreHoldsNoCode) {
  const std::string code = *invitations_.make({.label = "open"});
  const core::Bytes raw = *core::from_hex(code);
  for (const char* space : {"invitations", "invitation_codes"}) {
    int rows = 0;
    ASSERT_TRUE(store_.scan(space, {}, [&](core::ByteView key, core::ByteView value) {
      ++rows;
      for (const core::ByteView bytes : {key, value}) {
        EXPECT_EQ(core::as_text(bytes).find(code), std::string::npos);
        EXPECT_EQ(core::as_text(bytes).find(core::as_text(raw)), std::string::npos);
      }
      return true;
    }));
    EXPECT_EQ(rows, 1) << space;
  }
}

}  // namespace
}  // namespace commensal::gateway
