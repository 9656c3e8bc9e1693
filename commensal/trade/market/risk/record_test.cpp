// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/market/risk/record.hpp>

namespace commensal::risk {
namespace {

using core::ErrorCode;
using protocol::Outcome;

constexpr std::uint64_t kDayMs = 24ull * 3600 * 1000;
const crypto::Address kProvider{{1}};

Event event(std::uint64_t number, std::uint64_t at_ms, EventKind kind) {
  Event made;
  made.provider = kProvider;
  made.number = number;
  made.at_ms = at_ms;
  made.kind = kind;
  return made;
}

Event audit(std::uint64_t number, std::uint64_t at_ms, Outcome outcome) {
  Event made = event(number, at_ms, EventKind::kAudit);
  made.outcome = outcome;
  return made;
}

TEST(RiskRecord, AddsUpWhatItIsTold) {
  Record record(kProvider, Prior());
  Event answers = event(0, 5 * kDayMs, EventKind::kAnswers);
  answers.count = 70;
  Event stake = event(1, 5 * kDayMs, EventKind::kStake);
  stake.amount = protocol::Amount::from_words(1, 0);
  ASSERT_TRUE(record.apply(answers));
  ASSERT_TRUE(record.apply(stake));
  ASSERT_TRUE(record.apply(audit(2, 6 * kDayMs, Outcome::kMatch)));
  ASSERT_TRUE(record.apply(audit(3, 7 * kDayMs, Outcome::kUnavailable)));
  const Record::Counts expected{4, 70, 1, 0, 1, 5 * kDayMs, 7 * kDayMs};
  EXPECT_EQ(record.counts(), expected);
  EXPECT_EQ(record.stake(), 18446744073709551616.0);
}

TEST(RiskRecord, RefusesByNameAndStaysAsItWas) {
  Record record(kProvider, Prior());
  ASSERT_TRUE(record.apply(audit(0, 1000, Outcome::kMatch)));
  ASSERT_TRUE(record.apply(audit(1, 2000, Outcome::kMatch)));
  Event foreign = audit(2, 2000, Outcome::kMatch);
  foreign.provider = {};
  Event odd = audit(2, 2000, Outcome::kMatch);
  odd.count = 1;
  const struct {
    Event event;
    ErrorCode code;
    std::string_view message;
  } cases[] = {
      {audit(1, 2000, Outcome::kMatch), ErrorCode::kAlreadyExists,
       "event: number 1 again, expected 2"},
      {audit(3, 2000, Outcome::kMatch), ErrorCode::kFailedPrecondition,
       "event: number 3, expected 2"},
      {audit(2, 1999, Outcome::kMatch), ErrorCode::kFailedPrecondition,
       "event: the clock went back from 2000 ms to 1999 ms"},
      {odd, ErrorCode::kInvalidArgument, "count: not of kind 'audit', expected none"},
  };
  const Record::Counts before = record.counts();
  const double mean = record.belief(2000).mean();
  for (const auto& one : cases) {
    const auto applied = record.apply(one.event);
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().code, one.code);
    EXPECT_EQ(applied.error().message, one.message);
  }
  EXPECT_EQ(record.apply(foreign).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(record.counts(), before);
  EXPECT_EQ(record.belief(2000).mean(), mean);
}

TEST(RiskRecord, ReplaysFromItsEncodedEventsToTheSameBelief) {
  core::CounterRng rng(7);
  Record first(kProvider, Prior());
  Record second(kProvider, Prior());
  std::uint64_t now_ms = 0;
  for (std::uint64_t i = 0; i < 800; ++i) {
    now_ms += rng.next_u64() % kDayMs;
    Event made = event(i, now_ms, static_cast<EventKind>(rng.next_u64() % 4));
    if (made.kind == EventKind::kAnswers) made.count = rng.next_u64() % 100;
    if (made.kind == EventKind::kAudit)
      made.outcome = static_cast<Outcome>(rng.next_unit() < 0.9 ? 0 : 1 + rng.next_u64() % 2);
    if (made.kind >= EventKind::kStake) made.amount = protocol::Amount(rng.next_u64());
    ASSERT_TRUE(first.apply(made));
    const auto again = protocol::decode<Event>(protocol::encode(made));
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_TRUE(second.apply(*again));
  }
  EXPECT_EQ(first.counts(), second.counts());
  EXPECT_EQ(first.belief(now_ms).mean(), second.belief(now_ms).mean());
  EXPECT_EQ(first.belief(now_ms).honest(), second.belief(now_ms).honest());
}

TEST(RiskRecord, TrustsStakeAndAgeOnlyAsFarAsToldTo) {
  Prior prior;
  prior.stake_reference = 1000;
  prior.age_reference_days = 30;
  double last = 1;
  for (const std::uint64_t stake : {0, 10, 1000, 100'000, 100'000'000}) {
    Record record(kProvider, prior);
    Event made = event(0, 0, EventKind::kStake);
    made.amount = protocol::Amount(stake);
    ASSERT_TRUE(record.apply(made));
    const double rate = record.belief(0).mean();
    EXPECT_LE(rate, last);
    last = rate;
    double younger = 1;
    for (const std::uint64_t days : {0, 1, 30, 3000}) {
      const double now = record.belief(days * kDayMs).mean();
      EXPECT_LE(now, younger);
      younger = now;
    }
  }
  // Neither counts for more than a quarter of the odds: 9 to 1/4.
  EXPECT_NEAR(last, 0.25 * 0.25 / 9.25, 1e-12);
}

TEST(RiskRecord, ExplainsItsRate) {
  Record record(kProvider, Prior());
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(record.apply(audit(i, 0, Outcome::kMatch)));
  const Figure rate = record.cheating_rate(kDayMs);
  EXPECT_EQ(rate.value, record.belief(kDayMs).mean());
  const std::string table = to_table(rate);
  for (const char* part : {"cheating rate", "audits that matched", "50", "P(honest)", "half-life"})
    EXPECT_NE(table.find(part), std::string::npos) << part << '\n' << table;
}

}  // namespace
}  // namespace commensal::risk
