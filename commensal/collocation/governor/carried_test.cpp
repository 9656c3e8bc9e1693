// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/collocation/governor/testing/synthetic_host.hpp>

namespace commensal::governor::testing {
namespace {

constexpr double kHour = 3600;

TEST(GovernorCarried, IsLessCertainTheOlderItIs) {
  const Rules rules;
  const Carried fresh{Learnt{0.01, 0.001, 0.002, 0.0005, 1e-4, 0.5}, {3, 4, 200, 2}, 1000};
  const Carried day = later(fresh, 24 * kHour, rules);
  EXPECT_EQ(day.learnt->cost, 0.01);
  EXPECT_EQ(day.learnt->lag, 0.002);
  EXPECT_EQ(day.learnt->noise, 1e-4);
  EXPECT_EQ(day.learnt->level_tried, 0.5);
  EXPECT_NEAR(day.learnt->cost_sd, std::hypot(0.001, rules.cost_drift * 12), 1e-9);
  EXPECT_NEAR(day.learnt->lag_sd, std::hypot(0.0005, rules.lag_drift * 12), 1e-9);
  const Carried century = later(fresh, 1e9, rules);
  EXPECT_EQ(century.learnt->cost_sd, rules.first_cost_sd);
  EXPECT_EQ(century.learnt->lag_sd, rules.lag_sd);
  EXPECT_FALSE(later({}, 60, rules).learnt);
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

// However often it is begun again within the hour, and though it forgets what it has learnt: what
// exploring may cost is spent once, and the hour loses no more than is promised.
TEST(GovernorCarried, ARestartDoesNotRenewTheBudget) {
  for (const double stretch_s : {80.0, 240.0, 900.0}) {
    for (const bool forgets : {true, false}) {
      SyntheticHost host;
      host.slope = [](double) { return 0.2; };
      host.noise = 0.03;
      Carried carried;
      double lost_s = 0;
      for (int i = 0; i * stretch_s < kHour; ++i) {
        if (forgets) carried.learnt.reset();
        const auto seed = static_cast<std::uint64_t>(i + 1);
        const Outcome outcome = run(host, stretch_s, seed, carried);
        EXPECT_GE(outcome.carried.hour_s, carried.hour_s);
        EXPECT_GE(outcome.carried.hour.run_s, carried.hour.run_s);
        EXPECT_GE(outcome.carried.hour.explored_s, carried.hour.explored_s);
        carried = outcome.carried;
        lost_s += outcome.lost * stretch_s;
      }
      const Rules rules;
      EXPECT_LE(lost_s, rules.promise * kHour) << stretch_s << forgets;
      EXPECT_LE(carried.hour.explored_s, 1.3 * rules.explore * rules.promise * kHour)
          << stretch_s << forgets;
      EXPECT_NEAR(carried.hour_s, kHour, 60 + stretch_s / 2) << stretch_s << forgets;
    }
  }
}

}  // namespace
}  // namespace commensal::governor::testing
