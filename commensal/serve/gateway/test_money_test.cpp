// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/test_money.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>
#include <optional>

namespace commensal::gateway {
namespace {

using ledger::AccountKind;
using protocol::Amount;

class TestMoneyOf : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { EXPECT_TRUE(ledger::check_all(bank_->state())); }
  /// Again, on the same disk.
  void start() {
    MoneyConfig config;
    config.face_value = Amount(is_paid_ ? 10 : 0);
    config.stake_min = Amount(1'000);
    config.test = {true, is_granted_, Amount(300)};
    config.rules.credit_cap = Amount(700);
    money_.reset();
    accounts_.emplace(store_, pair_.rng(), clock_);
    bank_.emplace(store_, clock_, pair_.gateway_key, config.rules);
    ASSERT_TRUE(bank_->open());
    money_.emplace(store_, *bank_, config);
    ASSERT_TRUE(money_->open(*accounts_));
  }
  std::uint64_t has(const crypto::Address& owner, AccountKind kind) const {
    return bank_->state().balance(owner, kind).low();
  }
  std::uint64_t credit_of(const std::string& account) const {
    return has(bank_->address_of(account), AccountKind::kCredit);
  }
  static crypto::Address provider(std::uint64_t number) {
    crypto::Address made;
    for (std::size_t i = 0; i < 8; ++i) made.bytes[i] = static_cast<std::uint8_t>(number >> 8 * i);
    return made;
  }
  std::uint64_t give_stake(const crypto::Address& address) {
    EXPECT_TRUE(money_->give_stake(address));
    return has(address, AccountKind::kAvailable);
  }

  bool is_granted_ = true, is_paid_ = true;
  ticket::testing::Pair pair_{6};
  core::ManualClock clock_;
  store::MemoryStore disk_;
  store::JointStore store_{disk_};
  std::optional<Accounts> accounts_;
  std::optional<Bank> bank_;
  std::optional<TestMoney> money_;
};

TEST_F(TestMoneyOf, AnAccountGetsCreditOnceAsFarAsTheCapGoes) {
  EXPECT_EQ(*money_->give_credit("alice"), Amount(300));
  EXPECT_EQ(*money_->give_credit("alice"), Amount());
  EXPECT_EQ(*money_->give_credit("bob"), Amount(300));
  EXPECT_EQ(*money_->give_credit("carol"), Amount(100));
  const std::uint64_t entries = bank_->state().scalars.entries;
  EXPECT_EQ(*money_->give_credit("dave"), Amount());
  EXPECT_EQ(bank_->state().scalars.entries, entries);
  EXPECT_EQ(credit_of("alice"), 300u);
  EXPECT_EQ(credit_of("carol"), 100u);
  EXPECT_EQ(has(bank_->address(), AccountKind::kAvailable), 0u);
}

TEST_F(TestMoneyOf, AccountsThatWereMadeWithoutGetItAtTheNextStart) {
  ASSERT_TRUE(accounts_->create("alice", Role::kConsumer, money_->owe("alice")));
  ASSERT_TRUE(accounts_->create("rich", Role::kConsumer, money_->owe("rich")));
  ASSERT_TRUE(
      bank_->submit(ledger::Deposit{bank_->address_of("rich"), Amount(5), core::Digest{1}}));
  ASSERT_TRUE(bank_->commit());
  start();
  EXPECT_EQ(credit_of("alice"), 300u);
  EXPECT_EQ(credit_of("rich"), 0u);
}

// The fault: each start looked at all accounts, however many there were.
TEST_F(TestMoneyOf, AStartLooksAtThoseAloneThatAreOwedSomething) {
  ASSERT_TRUE(accounts_->create("alice", Role::kConsumer, money_->owe("alice")));
  ASSERT_TRUE(accounts_->create("spent", Role::kConsumer, money_->owe("spent")));
  EXPECT_EQ(*money_->give_credit("spent"), Amount(300));
  ASSERT_TRUE(accounts_->create("gone", Role::kConsumer, money_->owe("gone")));
  ASSERT_TRUE(accounts_->remove("gone"));
  // Nobody reads it, as nobody owes it anything.
  ASSERT_TRUE(disk_.apply({{"accounts", {'z'}, core::Bytes{1, 2, 3}}}));
  start();
  EXPECT_EQ(credit_of("alice"), 300u);
  EXPECT_EQ(credit_of("spent"), 300u);
  EXPECT_EQ(credit_of("gone"), 0u);
  std::size_t owed = 0;
  ASSERT_TRUE(disk_.scan("test_owed", {}, [&](core::ByteView, core::ByteView) {
    ++owed;
    return true;
  }));
  EXPECT_EQ(owed, 0u);
}

TEST_F(TestMoneyOf, WhoHadNoRoomIsOwedItsCreditStill) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    ASSERT_TRUE(accounts_->create(name, Role::kConsumer, money_->owe(name)));
    EXPECT_TRUE(money_->give_credit(name));
  }
  EXPECT_EQ(credit_of("c"), 100u);
  EXPECT_EQ(credit_of("d") + credit_of("e"), 0u);
  std::size_t owed = 0;
  start();
  ASSERT_TRUE(disk_.scan("test_owed", {}, [&](core::ByteView, core::ByteView) {
    ++owed;
    return true;
  }));
  EXPECT_EQ(owed, 2u);
}

TEST_F(TestMoneyOf, WhoCameWhileNothingWasGrantedGetsItOnceSomethingIs) {
  is_granted_ = false;
  start();
  ASSERT_TRUE(accounts_->create("alice", Role::kConsumer, money_->owe("alice")));
  EXPECT_EQ(*money_->give_credit("alice"), Amount());
  is_granted_ = true;
  start();
  EXPECT_EQ(credit_of("alice"), 300u);
}

TEST_F(TestMoneyOf, WhoWasPromisedAnotherSumGetsThat) {
  for (const auto& [name, units] : {std::pair("more", 350), {"less", 20}, {"none", 0}}) {
    core::Store::Batch with = money_->owe(name);
    with.push_back(TestMoney::promise(name, Amount(static_cast<std::uint64_t>(units))));
    ASSERT_TRUE(accounts_->create(name, Role::kConsumer, std::move(with)));
  }
  EXPECT_EQ(*money_->give_credit("more"), Amount(350));
  start();  // it ended before the others had theirs
  EXPECT_EQ(credit_of("more"), 350u);
  EXPECT_EQ(credit_of("less"), 20u);
  EXPECT_EQ(credit_of("none"), 0u);
}

TEST_F(TestMoneyOf, AProviderGetsWhatItsStakeLacksOnce) {
  const crypto::Address poor = provider(1), half = provider(2), rich = provider(3);
  for (const auto& [owner, amount] : {std::pair(half, 400u), std::pair(rich, 1000u)}) {
    const core::Digest reference{owner.bytes[0]};
    ASSERT_TRUE(bank_->submit(ledger::Deposit{owner, Amount(amount), reference}));
  }
  ASSERT_TRUE(bank_->commit());
  EXPECT_EQ(give_stake(poor), 1'000u);
  EXPECT_EQ(give_stake(half), 1'000u);
  EXPECT_EQ(give_stake(rich), 1'000u);
  // What it has lost since is not given back, nor after a restart.
  const crypto::SecretKey key = *crypto::SecretKey::from_bytes(core::Digest{9});
  EXPECT_EQ(give_stake(key.address()), 1'000u);
  ledger::Transaction left;
  left.ledger = bank_->address();
  left.sender = key.address();
  left.body = ledger::Withdraw{Amount(600)};
  ledger::sign(key, left);
  ASSERT_TRUE(bank_->relay(left));
  ASSERT_TRUE(bank_->commit());
  EXPECT_EQ(give_stake(key.address()), 400u);
  start();
  EXPECT_EQ(give_stake(key.address()), 400u);
}

TEST_F(TestMoneyOf, StrangersGrowTheLedgerSoFarAndNoFurther) {
  for (std::uint64_t i = 0; i < limits::kTestStakesMax; ++i) {
    if (i == limits::kTestStakesMax / 2) start();  // what was given is counted on
    ASSERT_EQ(give_stake(provider(i)), 1'000u) << i;
  }
  const std::uint64_t entries = bank_->state().scalars.entries;
  EXPECT_EQ(give_stake(provider(limits::kTestStakesMax)), 0u);
  start();
  EXPECT_EQ(give_stake(provider(limits::kTestStakesMax)), 0u);
  EXPECT_EQ(bank_->state().scalars.entries, entries);
}

TEST_F(TestMoneyOf, WhereNothingIsGrantedNothingIsBooked) {
  for (const bool is_paid : {true, false}) {
    is_granted_ = !is_paid;
    is_paid_ = is_paid;
    start();
    const std::uint64_t entries = bank_->state().scalars.entries;
    EXPECT_EQ(*money_->give_credit("alice"), Amount());
    EXPECT_EQ(give_stake(provider(1)), 0u);
    EXPECT_EQ(bank_->state().scalars.entries, entries);
  }
}

}  // namespace
}  // namespace commensal::gateway
