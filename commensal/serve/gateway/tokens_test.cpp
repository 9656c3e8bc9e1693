// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/accounts.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;

constexpr std::int64_t kDayMs = 86'400'000;

class TokensOf : public ::testing::Test {
 protected:
  TokensOf() { first_ = *accounts_.create("alice", Role::kConsumer); }

  ErrorCode code_of(const std::string& token) {
    const auto pass = accounts_.authenticate(token);
    return pass ? ErrorCode::kInternal : pass.error().code;
  }

  store::MemoryStore store_;
  core::CounterRng rng_{1};
  core::ManualClock clock_;
  Accounts accounts_{store_, rng_, clock_};
  std::string first_;
};

TEST_F(TokensOf, AnAccountHasSeveralEachWithItsScopes) {
  const auto ci = accounts_.make_token(
      "alice", {.label = "ci", .scopes = {Scope::kModels, Scope::kInfer, Scope::kModels}});
  ASSERT_TRUE(ci) << ci.error().message;
  const auto pass = accounts_.authenticate(*ci);
  ASSERT_TRUE(pass);
  EXPECT_EQ(pass->account.name, "alice");
  EXPECT_EQ(pass->token.label, "ci");
  EXPECT_EQ(pass->token.scopes, (std::vector<Scope>{Scope::kInfer, Scope::kModels}));
  EXPECT_TRUE(pass->token.has(Scope::kAny) && pass->token.has(Scope::kInfer));
  EXPECT_FALSE(pass->token.has(Scope::kMoney));
  EXPECT_TRUE(accounts_.authenticate(first_)->token.has(Scope::kMoney));
  const auto list = accounts_.tokens("alice");
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ(list->at(0).label, "ci");
  EXPECT_EQ(list->at(1).label, "default");
  ASSERT_TRUE(accounts_.end_token("alice", "ci"));
  EXPECT_EQ(code_of(*ci), ErrorCode::kUnauthenticated);
  EXPECT_TRUE(accounts_.authenticate(first_));
  EXPECT_EQ(accounts_.end_token("alice", "ci").error().code, ErrorCode::kNotFound);
}

TEST_F(TokensOf, AreRefusedWhereTheyCannotBe) {
  const auto refused = [&](const std::string& name, const TokenTerms& terms) {
    const auto made = accounts_.make_token(name, terms);
    return made ? ErrorCode::kInternal : made.error().code;
  };
  clock_.advance_ms(1'000);
  EXPECT_EQ(refused("alice", {}), ErrorCode::kAlreadyExists);
  EXPECT_EQ(refused("bob", {.label = "ci"}), ErrorCode::kNotFound);
  for (const std::string& label : {std::string(), std::string("a/b"), std::string("a b"),
                                   std::string(".."), std::string("a\0b", 3), std::string(65, 'a')})
    EXPECT_EQ(refused("alice", {.label = label}), ErrorCode::kInvalidArgument) << label;
  EXPECT_EQ(refused("alice", {.label = "late", .expires_ms = 999}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused("alice", {.label = "any", .scopes = {Scope::kAny}}),
            ErrorCode::kInvalidArgument);
  for (std::size_t i = 1; i < limits::kTokensMax; ++i)
    ASSERT_TRUE(accounts_.make_token("alice", {.label = std::to_string(i)})) << i;
  EXPECT_EQ(refused("alice", {.label = "more"}), ErrorCode::kResourceExhausted);
  EXPECT_FALSE(scope_from_text("any"));
  EXPECT_NE(scope_from_text("all").error().message.find("infer, receipts, models"),
            std::string::npos);
}

TEST_F(TokensOf, AreGoodForNothingOnceTheyHaveExpired) {
  const auto brief = accounts_.make_token("alice", {.label = "brief", .expires_ms = 60'000});
  clock_.advance_ms(59'999);
  ASSERT_TRUE(accounts_.authenticate(*brief));
  clock_.advance_ms(2'001);
  EXPECT_EQ(accounts_.authenticate(*brief).error().message,
            "the token 'brief' of 'alice' has expired 2 s ago");
  EXPECT_TRUE(Accounts(store_, rng_, clock_).tokens("alice")->at(0).is_expired(62'000));
  const auto again = accounts_.make_token("alice", {.label = "brief"});  // in its place
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(accounts_.tokens("alice")->size(), 2u);
  EXPECT_EQ(code_of(*brief), ErrorCode::kUnauthenticated);
  EXPECT_TRUE(accounts_.authenticate(*again));
}

TEST_F(TokensOf, MakeNoneThatMayMoreOrLastsLonger) {
  const Token all{.account = "alice", .label = "all"};
  const Token some{
      .account = "alice", .label = "some", .scopes = {Scope::kInfer, Scope::kAccounts}};
  const Token brief{.account = "alice", .label = "brief", .expires_ms = 100};
  EXPECT_TRUE(check_given(all, {}));
  EXPECT_TRUE(check_given(some, {.scopes = {Scope::kInfer}}));
  EXPECT_TRUE(check_given(brief, {.expires_ms = 100}));
  for (const auto& refused :
       {check_given(some, {}), check_given(some, {.scopes = {Scope::kInfer, Scope::kMoney}}),
        check_given(brief, {}), check_given(brief, {.expires_ms = 101})}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  }
}

TEST_F(TokensOf, TheDayOfTheLastUseIsKept) {
  clock_.advance_ms(3 * kDayMs + 17);
  const auto ci = accounts_.make_token("alice", {.label = "ci"});
  EXPECT_EQ(accounts_.tokens("alice")->at(0).used_ms, 0);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(accounts_.authenticate(*ci));
  EXPECT_EQ(accounts_.tokens("alice")->at(0).used_ms, 3 * kDayMs);
  clock_.advance_ms(kDayMs);
  Accounts later(store_, rng_, clock_);
  ASSERT_TRUE(later.authenticate(*ci));
  EXPECT_EQ(later.tokens("alice")->at(0).used_ms, 4 * kDayMs);
}

// A store of a build whose accounts had one token each: SHA-256 -> name.
TEST_F(TokensOf, ThoseOfEarlierBuildsGoOnWorking) {
  ASSERT_TRUE(accounts_.renew("alice"));
  const std::string early(64, 'e');
  const core::Digest hash = crypto::sha256(core::as_bytes(early));
  const core::ByteView name = core::as_bytes("bob");
  const core::Bytes owner(name.begin(), name.end());
  const core::Bytes row = *protocol::encode_stored(Account{"bob", Role::kOperator});
  ASSERT_TRUE(store_.apply(
      {{"accounts", owner, row}, {"tokens", core::Bytes(hash.begin(), hash.end()), owner}}));
  Accounts later(store_, rng_, clock_);
  const auto pass = later.authenticate(early);
  ASSERT_TRUE(pass) << pass.error().message;
  EXPECT_EQ(pass->account.role, Role::kOperator);
  EXPECT_TRUE(pass->token.has(Scope::kMoney));
  EXPECT_EQ(pass->token.label, "default");
  clock_.advance_ms(2 * kDayMs);
  EXPECT_TRUE(later.authenticate(early));
  ASSERT_TRUE(later.make_token("bob", {.label = "ci"}));
  EXPECT_EQ(later.tokens("bob")->size(), 2u);
  EXPECT_FALSE(later.make_token("bob", {}));
  ASSERT_TRUE(later.end_token("bob", "default"));
  EXPECT_FALSE(later.authenticate(early));
  EXPECT_EQ(later.tokens("bob")->size(), 1u);
  EXPECT_TRUE(later.make_token("bob", {}));
  EXPECT_EQ(later.tokens("alice")->size(), 1u);
}

}  // namespace
}  // namespace commensal::gateway
