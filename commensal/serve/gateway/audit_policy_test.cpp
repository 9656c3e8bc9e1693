// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/audit_policy.hpp>

namespace commensal::gateway {
namespace {

const crypto::Address kProvider{{1}};
const crypto::Address kOther{{2}};

/// Answers that earn 250 each, of a provider that has 4000 at stake.
class AuditPolicyOf : public ::testing::Test {
 protected:
  AuditPolicyOf() {
    EXPECT_TRUE(book_.open());
    state_.balances.set({kProvider, ledger::AccountKind::kStake}, protocol::Amount(4000));
    state_.balances.set({kOther, ledger::AccountKind::kStake}, protocol::Amount(4000));
    clock_.advance_ms(1'000'000);
  }
  std::unique_ptr<AuditPolicy> policy(double floor, bool by_risk = true, double pay = 250) {
    auto made = std::make_unique<AuditPolicy>(loop_, clock_, events_,
                                              AuditTerms{.floor = floor, .pay = pay}, by_risk);
    EXPECT_TRUE(made->open(book_, state_));
    return made;
  }
  void deliver(AuditPolicy& policy, std::optional<AuditState> audit,
               const crypto::Address& provider = kProvider) {
    ReceiptRecord record;
    record.receipt.job.provider = provider;
    ++count_;
    record.receipt.job.input_commitment[0] = static_cast<std::uint8_t>(count_);
    record.receipt.job.input_commitment[1] = static_cast<std::uint8_t>(count_ >> 8);
    record.receipt.job.face_value = protocol::Amount(1000);
    record.receipt.job.win_threshold[0] = 0x40;  // a quarter
    record.receipt.step = 1;
    record.receipt.round = 5;
    record.account = "alice";
    record.delivered_ms = clock_.wall_ms();
    record.audit = audit ? AuditState::kDrawn : AuditState::kNotDrawn;
    std::vector<ReceiptRecord> records = {record};
    ASSERT_TRUE(book_.append(records));
    policy.on_receipt(records[0]);
    if (!audit) return;
    records[0].audit = *audit;
    ASSERT_TRUE(book_.update(records[0]));
    policy.on_verdict(records[0]);
  }
  void deliver_many(AuditPolicy& policy, int count, AuditState audit) {
    for (int i = 0; i < count; ++i) deliver(policy, audit);
    wait();
  }
  void wait() { loop_.advance_ms(AuditPolicy::kRefreshMs); }

  // (c - c'') / ((1 - alpha) S), with half of the stake lost; and the desk's margin.
  static constexpr double kInequality = 1.1 * 250 / (0.95 * 2000);

  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  EventQueue events_{loop_, [](event::Any&) { ADD_FAILURE() << "an event"; }, [] {}};
  store::MemoryStore store_;
  ReceiptBook book_{store_};
  ledger::State state_;
  std::uint32_t count_ = 0;
};

TEST_F(AuditPolicyOf, ANewProviderIsAuditedUntilItIsKnown) {
  const auto policy = this->policy(0.05);
  EXPECT_EQ(policy->probability(kProvider), 1) << "before its first answer too";
  policy->on_change(kProvider);
  wait();
  EXPECT_EQ(policy->probability(kProvider), 1);
  deliver(*policy, {});
  wait();
  EXPECT_EQ(policy->probability(kProvider), 1);
  deliver_many(*policy, 60, AuditState::kMatched);
  EXPECT_NEAR(policy->probability(kProvider), kInequality, 1e-12);
}

TEST_F(AuditPolicyOf, OfANewcomerNoMoreIsOpenThanItsStakeCovers) {
  // A wrong answer is taken to cost 100 times 250.
  state_.balances.set({kProvider, ledger::AccountKind::kStake}, protocol::Amount(3 * 25'000));
  const auto policy = this->policy(0.05);
  const auto takes_more = [&](std::uint32_t offered, const crypto::Address& provider = kProvider) {
    Candidate one{.address = provider, .name = "p", .offered = offered};
    policy->weigh({&one, 1});
    EXPECT_EQ(one.excluded.empty(), !one.may_come);
    return one.excluded.empty();
  };
  EXPECT_TRUE(takes_more(2));
  EXPECT_FALSE(takes_more(3));
  EXPECT_FALSE(takes_more(1, kOther)) << "its stake covers less than one";
  EXPECT_TRUE(takes_more(0, kOther)) << "or nobody would ever know it";
  policy->on_made(kProvider);
  EXPECT_FALSE(takes_more(2));
  policy->on_kept(kProvider);
  deliver(*policy, AuditState::kDrawn);
  EXPECT_FALSE(takes_more(2)) << "its audit is awaited";
  deliver_many(*policy, 60, AuditState::kMatched);
  EXPECT_TRUE(takes_more(1000)) << "it is known";
}

protocol::Job rollout_of(std::uint64_t steps, bool is_moved) {
  protocol::Job job;
  job.kind = protocol::JobKind::kRollout;
  job.provider = kProvider;
  job.steps = steps;
  if (is_moved) {
    job.noise = protocol::NoisePolicy::kCalibrated;
    job.states = protocol::StateRule::kMovable;
  }
  return job;
}

TEST_F(AuditPolicyOf, OfRolloutsNoMoreIsOpenAndUnauditedThanTheStakeMakesGood) {
  const auto policy = this->policy(0.05);
  // It loses 2000: 250 for the one step that is open, 1750 for those that are not audited.
  EXPECT_EQ(policy->open_steps_max(kProvider), 1u)
      << "its stake covers less than one, as it is new";
  const double one = 1.1 * 250 / (0.95 * 1750);
  EXPECT_NEAR(policy->step_probability(rollout_of(100, true), 0.01), one, 1e-12);
  EXPECT_EQ(policy->step_probability(rollout_of(100, true), 0.5), 0.5);
  EXPECT_NEAR(policy->step_probability(rollout_of(3, false), 0.01), 3 * one, 1e-12);
  EXPECT_EQ(policy->step_probability(rollout_of(100, false), 0.01), 1);
  deliver_many(*policy, 60, AuditState::kMatched);
  EXPECT_EQ(policy->open_steps_max(kProvider), 4u);
  EXPECT_NEAR(policy->step_probability(rollout_of(100, true), 0.01), 1.1 * 250 / (0.95 * 1000),
              1e-12);
  EXPECT_EQ(policy->step_refusal(kProvider), "");
  state_.balances.set({kOther, ledger::AccountKind::kStake}, protocol::Amount(1000));
  EXPECT_EQ(policy->step_refusal(kOther),
            "has a stake of 1000: auditing every step of a rollout would not make a false one a "
            "loss");
  const auto by_hand = this->policy(0.05, false);
  EXPECT_EQ(by_hand->step_probability(rollout_of(100, false), 0.01), 0.01);
  EXPECT_GT(by_hand->open_steps_max(kProvider), 1'000'000u);
  EXPECT_EQ(by_hand->step_refusal(kOther), "");
}

TEST_F(AuditPolicyOf, WhoIsLessKnownMayCostMore) {
  const auto policy = this->policy(0.05);
  deliver_many(*policy, 4, AuditState::kMatched);
  std::array<Candidate, 2> both;
  both[0].address = kProvider, both[1].address = kOther;
  policy->on_change(kOther);
  wait();
  policy->weigh(both);
  EXPECT_GT(both[1].wrong_cost, 1);
  EXPECT_LT(both[0].wrong_cost, 1);
}

TEST_F(AuditPolicyOf, AnHonestOldOneSettlesAtTheInequalityOrTheFloor) {
  const auto low = policy(0.05), high = policy(0.3);
  for (AuditPolicy* policy : {low.get(), high.get()}) {
    deliver_many(*policy, 300, AuditState::kMatched);
  }
  EXPECT_NEAR(low->probability(kProvider), kInequality, 1e-12);
  EXPECT_EQ(high->probability(kProvider), 0.3);
  // The stake is what the inequality rests on.
  state_.balances.set({kProvider, ledger::AccountKind::kStake}, protocol::Amount(1000));
  low->on_change(kProvider);
  wait();
  EXPECT_NEAR(low->probability(kProvider), 4 * kInequality, 1e-12);
}

TEST_F(AuditPolicyOf, AMismatchBringsTheAuditsBack) {
  const auto policy = this->policy(0.05);
  deliver_many(*policy, 300, AuditState::kMatched);
  for (int i = 0; i < 60; ++i) deliver(*policy, AuditState::kMatched, kOther);
  deliver_many(*policy, 1, AuditState::kMismatched);
  EXPECT_EQ(policy->probability(kProvider), 1);
  EXPECT_NEAR(policy->probability(kOther), kInequality, 1e-12);
  // For a while: evidence of better conduct has to outweigh it.
  deliver_many(*policy, 5, AuditState::kMatched);
  EXPECT_EQ(policy->probability(kProvider), 1);
  deliver_many(*policy, 600, AuditState::kMatched);
  EXPECT_NEAR(policy->probability(kProvider), kInequality, 1e-12);
}

TEST_F(AuditPolicyOf, StepsOfRolloutsSayNothing) {
  auto policy = this->policy(0.05);
  deliver_many(*policy, 40, AuditState::kMatched);
  const double before = policy->probability(kProvider);
  ASSERT_GT(before, 0.05);
  ReceiptRecord step;
  step.receipt.job.provider = kProvider;
  step.receipt.job.kind = protocol::JobKind::kRollout;
  step.receipt.step = 1;  // without a round: it earns nothing
  step.account = "alice";
  step.delivered_ms = clock_.wall_ms();
  step.audit = AuditState::kMatched;
  std::vector<ReceiptRecord> records = {step};
  ASSERT_TRUE(book_.append(records));
  policy->on_receipt(records[0]);
  policy->on_verdict(records[0]);
  wait();
  EXPECT_EQ(policy->probability(kProvider), before);
  EXPECT_EQ(this->policy(0.05)->probability(kProvider), before);
}

TEST_F(AuditPolicyOf, IsAskedOnceInAWhileAndNotForEachAnswer) {
  const auto policy = this->policy(0.05);
  deliver_many(*policy, 300, AuditState::kMatched);
  const double before = policy->probability(kProvider);
  deliver(*policy, AuditState::kMismatched);
  loop_.advance_ms(AuditPolicy::kRefreshMs - 1);
  EXPECT_EQ(policy->probability(kProvider), before);
  loop_.advance_ms(1);
  EXPECT_EQ(policy->probability(kProvider), 1);
}

TEST_F(AuditPolicyOf, SaysWhatAnybodySaysOfTheFactsAndTheSameAfterARestart) {
  auto policy = this->policy(0.05);
  deliver_many(*policy, 40, AuditState::kMatched);
  deliver_many(*policy, 1, AuditState::kMismatched);
  const auto facts = risk_facts(book_, state_, kProvider);
  ASSERT_TRUE(facts);
  const auto made = assess(*facts, policy->terms(), static_cast<std::uint64_t>(clock_.wall_ms()));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(policy->probability(kProvider), made->audit_probability.value);
  const double before = policy->probability(kProvider);
  policy = this->policy(0.05);
  EXPECT_EQ(policy->probability(kProvider), before);
  EXPECT_EQ(policy->ask(*facts), before);
}

TEST_F(AuditPolicyOf, TheFloorIsAllWhereRiskHasNoSay) {
  const auto policy = this->policy(0.05, false);
  deliver_many(*policy, 3, AuditState::kMismatched);
  EXPECT_EQ(policy->probability(kProvider), 0.05);
  const auto facts = risk_facts(book_, state_, kProvider);
  EXPECT_EQ(policy->ask(*facts), 0.05);
}

TEST_F(AuditPolicyOf, AnswersWithoutTicketsAreAuditedByTheFloor) {
  const auto policy = this->policy(0.05, true, 0);
  EXPECT_EQ(policy->probability(kProvider), 0.05);
  ReceiptRecord record;
  record.receipt.job.provider = kProvider;
  record.receipt.step = 1;
  record.delivered_ms = 1;
  std::vector<ReceiptRecord> records = {record};
  ASSERT_TRUE(book_.append(records));
  policy->on_receipt(records[0]);
  wait();
  EXPECT_EQ(policy->probability(kProvider), 0.05);
}

}  // namespace
}  // namespace commensal::gateway
