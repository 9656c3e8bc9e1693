// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/trade/market/risk/desk.hpp>

namespace commensal::risk {
namespace {

using protocol::Outcome;

const crypto::Address kProvider{{7}};

/// A provider's record, event after event.
class Story {
 public:
  explicit Story(std::uint64_t stake) {
    Event event = next(EventKind::kStake);
    event.amount = protocol::Amount(stake);
    EXPECT_TRUE(record.apply(event));
  }
  void audited(Outcome outcome, int times = 1) {
    for (int i = 0; i < times; ++i) {
      Event event = next(EventKind::kAudit);
      event.outcome = outcome;
      EXPECT_TRUE(record.apply(event));
    }
  }
  Record record{kProvider, Prior()};
  std::uint64_t now_ms = 0;

 private:
  Event next(EventKind kind) {
    Event event;
    event.provider = kProvider;
    event.number = record.counts().events;
    event.at_ms = now_ms += 60'000;
    event.kind = kind;
    return event;
  }
};

/// Steps cost 1, cheating saves all of it, one step in a hundred steps into a cheap state.
Policy policy() {
  Policy made;
  made.lazy = {1, 0, 1.2, true};
  made.malice = {100, 1, 0, 0};
  return made;
}

Assessment assessed(const Story& story, const Policy& policy, const AnswerFacts& facts = {}) {
  auto made = assess(story.record, story.now_ms, policy, facts);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

TEST(RiskDesk, MoreStakeNeedsFewerAudits) {
  double last = 1;
  for (const std::uint64_t stake : {0, 100, 300, 1000, 10'000, 1'000'000}) {
    const Assessment made = assessed(Story(stake), policy());
    EXPECT_LE(made.audit_probability.value, last) << stake;
    last = made.audit_probability.value;
    EXPECT_EQ(made.deterred, stake >= 300) << stake;
  }
  EXPECT_EQ(last, 0.01);  // the floor
}

TEST(RiskDesk, AMismatchRaisesTheRateAndTheAuditsOfWhatMatters) {
  Story story(1'000'000);
  AnswerFacts facts;
  facts.use = {100, 2, 0.5, 1};
  story.audited(Outcome::kMatch, 300);
  const Assessment before = assessed(story, policy(), facts);
  EXPECT_LT(before.audit_probability.value, 1);
  story.audited(Outcome::kMismatch);
  const Assessment after = assessed(story, policy(), facts);
  EXPECT_GT(after.cheating_rate.value, before.cheating_rate.value);
  EXPECT_LT(after.right.value, before.right.value);
  EXPECT_GT(after.value_of_audit.value, 0);
  EXPECT_EQ(after.audit_probability.value, 1);
}

TEST(RiskDesk, NoHistoryTalksItBelowTheInequality) {
  core::CounterRng rng(42);
  for (int trial = 0; trial < 300; ++trial) {
    Story story(static_cast<std::uint64_t>(std::exp2(24 * rng.next_unit())));
    Policy rules = policy();
    rules.malice.steps = 1 + std::floor(1000 * rng.next_unit());
    rules.collusion = 0.5 * rng.next_unit();
    AnswerFacts facts;
    facts.use = {100 * rng.next_unit(), 10 * rng.next_unit(), rng.next_unit(), 1};
    // Builds trust, then cheats for as long as it is let.
    const int trust = static_cast<int>(200 * rng.next_unit());
    const double cheats = rng.next_unit();
    for (int i = 0; i < trust + 20; ++i) {
      const bool wrong = i >= trust && rng.next_unit() < cheats;
      story.audited(wrong ? Outcome::kMismatch : Outcome::kMatch);
      if (i % 10 != 0) continue;
      const double loss = value_of_audit(0.99, facts.use).value;
      const double p = audit_probability(story.record, rules, loss).value;
      const Deterrent deterrent = deterrent_of(story.record, rules);
      const bool deters =
          lazy_deterred(rules.lazy, deterrent, p) && malice_deterred(rules.malice, deterrent, p);
      EXPECT_TRUE(deters || p == 1) << "trial " << trial << " audit " << i;
      EXPECT_GE(p, rules.audit_floor);
    }
  }
}

TEST(RiskDesk, ATrustBuildersDamageIsBoundedByTheAudits) {
  // Honest for 200 audits, then every answer is wrong: caught within the geometric law of p.
  core::CounterRng rng(9);
  Story story(10'000);
  story.audited(Outcome::kMatch, 200);
  const double p = assessed(story, policy()).audit_probability.value;
  double sum = 0;
  constexpr int kTrials = 4000;
  for (int i = 0; i < kTrials; ++i) {
    int wrong = 1;
    while (rng.next_unit() >= p) ++wrong;
    sum += wrong;
  }
  EXPECT_NEAR(sum / kTrials, 1 / p, 5 * std::sqrt(1 - p) / p / std::sqrt(kTrials));
  // What the inequality promises: its expected gain stays below what it loses when caught.
  const Deterrent deterrent = deterrent_of(story.record, policy());
  EXPECT_LT(1 / p, (deterrent.stake + deterrent.escrowed + 1.2) * (1 - deterrent.collusion));
}

TEST(RiskDesk, EveryFigureExplainsItself) {
  Story story(5000);
  story.audited(Outcome::kMatch, 3);
  AnswerFacts facts;
  facts.evidence.replicas = {{true, 0.01, 0.01}};
  facts.claim.face = 100;
  const Assessment made = assessed(story, policy(), facts);
  for (const Figure* figure : figures_of(made)) {
    EXPECT_FALSE(figure->name.empty());
    EXPECT_FALSE(figure->formula.empty());
    EXPECT_FALSE(figure->source.empty());
    const std::string table = to_table(*figure);
    for (const Term& term : figure->terms) {
      EXPECT_FALSE(term.meaning.empty()) << term.name;
      EXPECT_NE(table.find(term.name), std::string::npos);
    }
  }
}

TEST(RiskDesk, RefusesRulesAndQuestionsOutOfRange) {
  const Story story(1);
  Policy rules = policy();
  rules.margin = 1;
  EXPECT_EQ(assess(story.record, 0, rules, {}).error().code, core::ErrorCode::kInvalidArgument);
  AnswerFacts facts;
  facts.use.catches = 2;
  EXPECT_EQ(assess(story.record, 0, policy(), facts).error().message,
            "catches: 2, expected 0 to 1");
}

}  // namespace
}  // namespace commensal::risk
