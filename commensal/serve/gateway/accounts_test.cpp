// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/accounts.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using store::testing::Fault;

TEST(Accounts, AreFoundByTheirTokenOnly) {
  store::MemoryStore store;
  core::CounterRng rng(1);
  core::ManualClock clock;
  Accounts accounts(store, rng, clock);
  const auto alice = accounts.create("alice", Role::kConsumer);
  const auto root = accounts.create("root_1-x", Role::kOperator);
  ASSERT_TRUE(alice && root);
  EXPECT_EQ(alice->size(), 64u);
  EXPECT_NE(*alice, *root);
  EXPECT_EQ(accounts.authenticate(*alice)->account.name, "alice");
  EXPECT_EQ(accounts.authenticate(*root)->account.role, Role::kOperator);
  for (const std::string& wrong :
       {std::string(), std::string("alice"), *alice + "0", alice->substr(1), std::string(64, '0')})
    EXPECT_EQ(accounts.authenticate(wrong).error().code, ErrorCode::kUnauthenticated) << wrong;
  ASSERT_TRUE(accounts.list());
  EXPECT_EQ(accounts.list()->size(), 2u);
  EXPECT_EQ((*accounts.find("alice"))->role, Role::kConsumer);
  EXPECT_FALSE(*accounts.find("bob"));
}

TEST(Accounts, RefuseNamesThatAreTakenOrBroken) {
  store::MemoryStore store;
  core::CounterRng rng(1);
  core::ManualClock clock;
  Accounts accounts(store, rng, clock);
  ASSERT_TRUE(accounts.create("alice", Role::kConsumer));
  EXPECT_EQ(accounts.create("alice", Role::kOperator).error().code, ErrorCode::kAlreadyExists);
  for (const std::string& name :
       {std::string(), std::string("Alice"), std::string("1a"), std::string("a b"),
        std::string("a/b"), std::string("a\0b", 3), std::string(65, 'a')})
    EXPECT_EQ(accounts.create(name, Role::kConsumer).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ((*accounts.find("alice"))->role, Role::kConsumer);
  EXPECT_FALSE(role_from_text("owner"));
}

TEST(Accounts, NewTokensEndOldOnesAndRemovedNamesStayTaken) {
  store::MemoryStore store;
  core::CounterRng rng(1);
  core::ManualClock clock;
  Accounts accounts(store, rng, clock);
  const std::string first = *accounts.create("alice", Role::kConsumer);
  const std::string bob = *accounts.create("bob", Role::kConsumer);
  const auto second = accounts.renew("alice");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(accounts.authenticate(first));
  EXPECT_FALSE(accounts.recall(*second)) << "nobody has looked it up";
  EXPECT_EQ(accounts.authenticate(*second)->account.name, "alice");
  EXPECT_EQ(accounts.authenticate(bob)->account.name, "bob");
  EXPECT_EQ(accounts.recall(*second)->account.name, "alice");
  ASSERT_TRUE(accounts.remove("alice"));
  EXPECT_FALSE(accounts.recall(*second));
  EXPECT_TRUE(accounts.recall(bob)) << "what ends for one goes on for others";
  EXPECT_EQ(accounts.authenticate(*second).error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(accounts.authenticate(bob)->account.name, "bob");
  Accounts later(store, rng, clock);
  EXPECT_EQ(later.list()->size(), 1u);
  EXPECT_EQ(later.create("alice", Role::kConsumer).error().code, ErrorCode::kAlreadyExists);
  for (const auto& missing : {later.remove("alice"), later.remove("carol")})
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(Accounts, AreListedInPages) {
  store::MemoryStore store;
  core::CounterRng rng(1);
  core::ManualClock clock;
  Accounts accounts(store, rng, clock);
  for (const char* name : {"eve", "alice", "dave", "bob"}) {
    ASSERT_TRUE(accounts.create(name, Role::kConsumer));
  }
  const auto names = [](const core::Result<std::vector<Account>>& page) {
    std::string all;
    for (const Account& account : *page) all += account.name + " ";
    return all;
  };
  EXPECT_EQ(names(accounts.list({}, 3)), "alice bob dave ");
  EXPECT_EQ(names(accounts.list("dave", 3)), "eve ");
  EXPECT_EQ(names(accounts.list("eve", 3)), "");
  // Also what has changed since they were read.
  ASSERT_TRUE(accounts.create("carol", Role::kAuditor));
  ASSERT_TRUE(accounts.remove("bob"));
  EXPECT_EQ(names(accounts.list("alice", 2)), "carol dave ");
  EXPECT_EQ(accounts.list("bob", 1)->front().role, Role::kAuditor);
}

// The fault: whoever could reach a gateway with open sign-up could make accounts without end.
TEST(Accounts, ThoseThatWereMadeUninvitedAreSoMany) {
  store::MemoryStore store;
  core::CounterRng rng(1);
  core::ManualClock clock;
  std::optional<Accounts> accounts;
  accounts.emplace(store, rng, clock);
  const auto make = [&](const char* name) {
    const auto made = accounts->create_uninvited(name, 2, {});
    return made ? "" : core::name_of(made.error().code);
  };
  ASSERT_TRUE(accounts->create("root", Role::kOperator));
  EXPECT_EQ(make("alice"), "");
  EXPECT_EQ(make("alice"), core::name_of(ErrorCode::kAlreadyExists));
  EXPECT_EQ(make("bob"), "");
  EXPECT_EQ(make("carol"), core::name_of(ErrorCode::kResourceExhausted));
  EXPECT_FALSE(*accounts->find("carol"));
  ASSERT_TRUE(accounts->create("invited", Role::kConsumer));
  accounts.emplace(store, rng, clock);  // they are counted after a restart
  EXPECT_EQ(make("carol"), core::name_of(ErrorCode::kResourceExhausted));
  ASSERT_TRUE(accounts->remove("invited"));
  EXPECT_EQ(make("carol"), core::name_of(ErrorCode::kResourceExhausted));
  ASSERT_TRUE(accounts->remove("alice"));
  EXPECT_EQ(make("carol"), "");
  EXPECT_EQ(make("dave"), core::name_of(ErrorCode::kResourceExhausted));
}

TEST(Accounts, TheStoreHoldsNoToken) {
  store::MemoryStore store;
  core::CounterRng rng(1);
  core::ManualClock clock;
  const std::string token = *Accounts(store, rng, clock).create("alice", Role::kConsumer);
  const core::Bytes raw = *core::from_hex(token);
  for (const char* space : {"accounts", "account_tokens", "account_token_labels"}) {
    int rows = 0;
    const auto scanned = store.scan(space, {}, [&](core::ByteView key, core::ByteView value) {
      ++rows;
      for (const core::ByteView bytes : {key, value}) {
        EXPECT_EQ(core::as_text(bytes).find(token), std::string::npos);
        EXPECT_EQ(core::as_text(bytes).find(core::as_text(raw)), std::string::npos);
      }
      return true;
    });
    EXPECT_TRUE(scanned);
    EXPECT_EQ(rows, 1) << space;
  }
}

TEST(Accounts, AreThereWithTheirTokenOrNotAtAll) {
  for (const Fault fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
    store::MemoryStore disk;
    core::CounterRng rng(1);
    core::ManualClock clock;
    store::testing::FaultStore breaking(disk, 0, fault);
    EXPECT_FALSE(Accounts(breaking, rng, clock).create("alice", Role::kConsumer));
    core::CounterRng same(1);
    const std::string token = core::to_hex(same.next_digest());
    Accounts accounts(disk, rng, clock);
    EXPECT_EQ(accounts.find("alice")->has_value(), accounts.authenticate(token).has_value());
    EXPECT_EQ(accounts.find("alice")->has_value(), fault == Fault::kCrashAfter);
  }
}

}  // namespace
}  // namespace commensal::gateway
