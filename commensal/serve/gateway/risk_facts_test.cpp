// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>

namespace commensal::gateway {
namespace {

const crypto::Address kProvider{{1}};
const crypto::Address kOther{{2}};

class RiskFactsOf : public ::testing::Test {
 protected:
  RiskFactsOf() : book_(store_) { EXPECT_TRUE(book_.open()); }

  ReceiptRecord delivered(std::int64_t at_ms, AuditState audit,
                          const crypto::Address& provider = kProvider) {
    ReceiptRecord record;
    record.receipt.job.provider = provider;
    record.receipt.job.input_commitment.fill(++count_);
    record.receipt.job.face_value = protocol::Amount(1000);
    record.receipt.job.win_threshold[0] = 0x40;  // a quarter
    record.receipt.step = 1;
    record.receipt.round = 5;
    record.account = "alice";
    record.delivered_ms = at_ms;
    record.audit = audit;
    std::vector<ReceiptRecord> records = {record};
    EXPECT_TRUE(book_.append(records));
    return record;
  }

  store::MemoryStore store_;
  ReceiptBook book_;
  ledger::State state_;
  std::uint8_t count_ = 0;
};

TEST_F(RiskFactsOf, TellsAnswersAuditsAndStakeInOrder) {
  delivered(1000, AuditState::kNotDrawn);
  delivered(1500, AuditState::kMatched, kOther);
  delivered(2000, AuditState::kMatched);
  delivered(1800, AuditState::kReplaced);  // a clock that was set back
  delivered(3000, AuditState::kMismatched);
  delivered(4000, AuditState::kMismatched);
  const ReceiptRecord open = delivered(5000, AuditState::kDrawn);
  state_.balances.set({kProvider, ledger::AccountKind::kStake}, protocol::Amount(70));
  state_.announcements.set({kProvider, 3}, {ledger::AccountKind::kStake, protocol::Amount(30), 9});
  ledger::ClaimRow claim;
  claim.face = protocol::Amount(1000);
  claim.provider = claim.holder = kProvider;
  state_.claims.set(protocol::ticket_id(open.receipt.body()), claim);

  const auto facts = risk_facts(book_, state_, kProvider);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->pay, 250);
  const auto record = record_of(*facts, risk::Prior());
  ASSERT_TRUE(record) << record.error().message;
  const risk::Record::Counts expected{9, 6, 1, 2, 0, 1000, 5000};
  EXPECT_EQ(record->counts(), expected);
  EXPECT_EQ(record->stake(), 100);
  EXPECT_EQ(record->escrowed(), 1000);
  claim.holder = kOther;
  state_.claims.set(protocol::ticket_id(open.receipt.body()), claim);
  EXPECT_EQ(record_of(*risk_facts(book_, state_, kProvider), risk::Prior())->escrowed(), 0)
      << "it has sold what it could have lost";
}

TEST_F(RiskFactsOf, KnowsNothingOfAStranger) {
  const auto facts = risk_facts(book_, state_, kOther);
  ASSERT_TRUE(facts);
  const auto record = record_of(*facts, risk::Prior());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->counts().answers, 0u);
  EXPECT_EQ(record->belief(0).mean(), risk::Belief(risk::Prior(), 0.9).mean());
}

}  // namespace
}  // namespace commensal::gateway
