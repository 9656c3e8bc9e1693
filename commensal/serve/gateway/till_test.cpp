// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/till.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using ledger::AccountKind;
using protocol::Amount;

const Amount kPrice(10);

class TillOf : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(bank_.open());
    ASSERT_TRUE(book_.open());
  }
  void give(const std::string& account, std::uint64_t units) {
    ledger::Deposit deposit;
    deposit.owner = bank_.address_of(account);
    deposit.amount = Amount(units);
    deposit.reference = crypto::sha256(core::as_bytes(account));
    ASSERT_TRUE(bank_.submit(std::move(deposit)));
    ASSERT_TRUE(bank_.commit());
  }
  Amount left(const std::string& account) const {
    return bank_.state().balance(bank_.address_of(account), AccountKind::kAvailable);
  }
  ReceiptRecord delivered(const std::string& account) {
    ReceiptRecord record;
    record.receipt.job.steps = 1;
    record.receipt.job.provider = pair_.provider_key.address();
    record.receipt.step = 1;
    record.receipt.commitment.fill(++made_);
    record.account = account;
    record.model = "a/model";
    record.opening.assign(10, 1);
    return record;
  }

  ticket::testing::Pair pair_{6};
  core::ManualClock clock_;
  store::MemoryStore disk_;
  store::JointStore store_{disk_};
  Bank bank_{store_, clock_, pair_.gateway_key, ledger::Config()};
  ReceiptBook book_{store_};
  Till till_{book_, bank_, kPrice};
  std::uint8_t made_ = 0;
};

TEST_F(TillOf, AClockThatWasSetBackStopsNoBooking) {
  clock_.advance_ms(10'000);
  give("alice", 10);
  clock_.advance_ms(-5'000);
  give("bob", 10);
  EXPECT_EQ(bank_.state().scalars.time_ms, 10'000u);
  const auto outcomes = [&] {
    std::vector<ReceiptRecord> records = {delivered("alice")};
    return till_.keep(records);
  }();
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  EXPECT_EQ(left("alice"), Amount());
}

TEST_F(TillOf, OneThatCannotPayCostsTheOthersOfItsBatchNothing) {
  give("alice", 30), give("bob", 5), give("carol", 10);
  std::vector<ReceiptRecord> records = {delivered("alice"), delivered("bob"), delivered("carol"),
                                        delivered("alice")};
  const auto outcomes = till_.keep(records);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  for (const std::size_t i : {0, 2, 3}) {
    EXPECT_TRUE((*outcomes)[i]) << i;
    EXPECT_TRUE(book_.find(records[i].id())) << i;
    EXPECT_GT(records[i].number, 0u);
  }
  ASSERT_FALSE((*outcomes)[1]);
  EXPECT_EQ((*outcomes)[1].error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE((*outcomes)[1].error().message.find("account 'bob' can't pay 10"), std::string::npos);
  EXPECT_FALSE(book_.contains(records[1].id()));
  EXPECT_EQ(left("alice"), Amount(10));
  EXPECT_EQ(left("bob"), Amount(5));
  EXPECT_EQ(left("carol"), Amount());
}

TEST_F(TillOf, AnAnswerThatIsTooLargeToKeepCostsTheOthersOfItsBatchNothing) {
  for (const char* account : {"alice", "bob", "carol"}) give(account, 10);
  ReceiptBook book(store_, {.opening_max = 1000});
  ASSERT_TRUE(book.open());
  Till till(book, bank_, kPrice);
  std::vector<ReceiptRecord> records = {delivered("alice"), delivered("bob"), delivered("carol")};
  records[1].opening.assign(1001, 1);
  records[1].opening_bytes = 1001;
  const auto outcomes = till.keep(records);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  EXPECT_TRUE((*outcomes)[0] && (*outcomes)[2]);
  EXPECT_EQ((*outcomes)[1].error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(left("alice"), Amount());
  EXPECT_EQ(left("bob"), Amount(10));
  EXPECT_EQ(left("carol"), Amount());
  EXPECT_FALSE(book.contains(records[1].id()));
  EXPECT_TRUE(book.contains(records[0].id()) && book.contains(records[2].id()));
}

TEST_F(TillOf, WhatIsAppliedBesideOneThatCannotPayIsNot) {
  give("bob", 5);
  std::vector<ReceiptRecord> records = {delivered("bob")};
  bool is_applied = false;
  const auto outcomes = till_.keep(records, [&](const Till::Outcomes&) -> core::Result<void> {
    is_applied = true;
    return {};
  });
  ASSERT_TRUE(outcomes);
  EXPECT_FALSE((*outcomes)[0]);
  EXPECT_FALSE(is_applied);
}

TEST_F(TillOf, NothingIsReservedTwiceWhateverTheJob) {
  give("alice", 10 * 64 - 1);
  ASSERT_TRUE(till_.reserve("alice", 60));
  int admitted = 0;
  for (int i = 0; i < 64; ++i) admitted += till_.reserve("alice", 1) ? 1 : 0;
  EXPECT_EQ(admitted, 3);
  EXPECT_EQ(till_.reserve("alice", 1).error().code, ErrorCode::kResourceExhausted);
  till_.release("alice", 60);
  EXPECT_FALSE(till_.reserve("alice", 61));
  EXPECT_TRUE(till_.reserve("alice", 60));
}

TEST_F(TillOf, AStepThatIsPaidIsNoLongerReserved) {
  give("alice", 30);
  ASSERT_TRUE(till_.reserve("alice", 3));
  std::vector<ReceiptRecord> records = {delivered("alice")};
  ASSERT_TRUE(till_.keep(records));
  EXPECT_FALSE(till_.reserve("alice", 1));
  till_.release("alice", 2);
  EXPECT_FALSE(till_.reserve("alice", 3));
  EXPECT_TRUE(till_.reserve("alice", 2));
}

TEST_F(TillOf, WhatIsReservedIsNotPaidOut) {
  give("alice", 35);
  ASSERT_TRUE(till_.reserve("alice", 2));
  EXPECT_EQ(till_.withdraw("alice", Amount(16)).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(till_.withdraw("alice", Amount(15)));
  EXPECT_EQ(left("alice"), Amount(20));
  till_.release("alice", 2);
  EXPECT_TRUE(till_.withdraw("alice", Amount(20)));
  EXPECT_FALSE(till_.withdraw("alice", Amount(1)));
}

TEST_F(TillOf, AFailureOfTheStoreIsOneOfAll) {
  give("alice", 30);
  ASSERT_TRUE(till_.reserve("alice", 2));
  store::testing::FaultStore broken(disk_, 0, store::testing::Fault::kFailBefore);
  store::JointStore store(broken);
  Bank bank(store, clock_, pair_.gateway_key, ledger::Config());
  ASSERT_TRUE(bank.open());
  ReceiptBook book(store);
  ASSERT_TRUE(book.open());
  Till till(book, bank, kPrice);
  std::vector<ReceiptRecord> records = {delivered("alice"), delivered("alice")};
  EXPECT_FALSE(till.keep(records));
  EXPECT_FALSE(till.keep(records));
}

}  // namespace
}  // namespace commensal::gateway
