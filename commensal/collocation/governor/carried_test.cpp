// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/collocation/governor/governor.hpp>

namespace commensal::governor {
namespace {

constexpr double kHour = 3600;

TEST(GovernorCarried, IsLessCertainTheOlderItIs) {
  const Rules rules;
  const Carried fresh{Learnt{0.01, 0.001, 0.002, 0.0005, -0.5, 1e-4, 0.5}, {3, 4, 200, 2}, 1000};
  const Carried day = later(fresh, 24 * kHour, rules);
  EXPECT_EQ(day.learnt->cost, 0.01);
  EXPECT_EQ(day.learnt->lag, 0.002);
  EXPECT_EQ(day.learnt->noise, 1e-4);
  EXPECT_EQ(day.learnt->level_tried, 0.5);
  // As far as it wanders in an hour; what is not known of the two at once stays what it was.
  EXPECT_NEAR(day.learnt->cost_sd, std::hypot(0.001, rules.cost_drift * std::sqrt(6)), 1e-9);
  EXPECT_NEAR(day.learnt->lag_sd, std::hypot(0.0005, rules.lag_drift * std::sqrt(6)), 1e-9);
  EXPECT_NEAR(day.learnt->correlation * day.learnt->cost_sd * day.learnt->lag_sd,
              -0.5 * 0.001 * 0.0005, 1e-12);
  const Carried soon = later(fresh, 60, rules);
  EXPECT_GT(soon.learnt->cost_sd, fresh.learnt->cost_sd);
  EXPECT_LT(soon.learnt->cost_sd, day.learnt->cost_sd);
  Carried vague = fresh;
  vague.learnt->cost_sd = vague.learnt->lag_sd = 1;
  EXPECT_EQ(later(vague, 60, rules).learnt->cost_sd, rules.first_cost_sd);
  EXPECT_EQ(later(vague, 60, rules).learnt->lag_sd, rules.lag_sd);
  EXPECT_FALSE(later({}, 60, rules).learnt);
}

// Of what a guest costs at once and late an hour tells the sum far better than each.
TEST(GovernorCarried, TheSumIsKnownAsWellAfterARestart) {
  const Rules rules;
  const Learnt learnt{0.005, 0.004, 0, 0.004, -0.95, 1e-4, 1};
  EXPECT_LT(Belief(rules, learnt).all().sd, 0.4 * std::hypot(0.004, 0.004));
  const auto again = Belief(rules, learnt).learnt();
  EXPECT_NEAR(again.correlation, -0.95, 0.05);
  EXPECT_NEAR(again.cost_sd, 0.004, 0.0002);
}

// A guest that costs half of the host is ended and started anew, again and again.
TEST(GovernorCarried, ARestartEndsNoRest) {
  const Rules rules;
  core::CounterRng dice(1), noise(2);
  Carried carried;
  double now_s = 0;
  const auto play = [&](Governor& governor, double seconds) {
    double run_s = 0, level = 0;
    for (const double end_s = now_s + seconds; now_s < end_s; now_s += 0.25) {
      const double rate = 1000 * (1 - 0.5 * level) * (1 + 0.01 * (noise.next_unit() - 0.5));
      level = governor.tick(now_s, probe::RateSample{now_s, 0.25, rate});
      run_s += 0.25 * level;
    }
    carried = governor.carried();
    return run_s;
  };
  Governor first(rules, dice);
  while (first.status().phase != Phase::kBackOff && now_s < 3600) play(first, 1);
  ASSERT_EQ(first.status().phase, Phase::kBackOff);
  EXPECT_GT(carried.rest_s, rules.back_off_min - 2);
  EXPECT_GT(carried.minute_run_s, 0);
  EXPECT_GT(carried.back_off_s, rules.back_off_min);
  EXPECT_EQ(Governor(rules, dice, carried).carried().minute_run_s, carried.minute_run_s);
  for (int i = 0; i < 5; ++i) {
    Governor again(rules, dice, later(carried, 1, rules));
    EXPECT_EQ(play(again, 4), 0);
  }
  EXPECT_EQ(later(carried, 3600, rules).rest_s, 0);
  EXPECT_EQ(later(carried, 3600, rules).minute_run_s, 0);
  EXPECT_EQ(later(carried, 3600, rules).back_off_s, 0);
}

TEST(GovernorCarried, KeepsTheBooksUntilTheHourIsOver) {
  const Carried fresh{{}, {3, 4, 200, 2}, 1000};
  const Carried soon = later(fresh, 2599, {});
  EXPECT_EQ(soon.hour_s, 3599);
  EXPECT_EQ(soon.hour.lost_s, 3);
  EXPECT_EQ(soon.hour.variance, 4);
  EXPECT_EQ(soon.hour.run_s, 200);
  EXPECT_EQ(soon.hour.explored_s, 2);
  const Carried next = later(fresh, 2600, {});
  EXPECT_EQ(next.hour_s, 0);
  EXPECT_EQ(next.hour.lost_s, 0);
  EXPECT_EQ(next.hour.run_s, 0);
}

}  // namespace
}  // namespace commensal::governor
