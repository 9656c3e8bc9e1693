// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/lab/bench/collocation/laws.hpp>

namespace commensal::lab::bench::collocation {
namespace {

TEST(Suppressor, LeavesAThirdOfTheMachineFree) {
  const Suppressor law(4, 2);
  EXPECT_DOUBLE_EQ(law.level(0), 1);
  EXPECT_DOUBLE_EQ(law.level(1.6), 0.5);  // 2.6 - 1.6 of 2 threads
  EXPECT_DOUBLE_EQ(law.level(2.6), 0);
  EXPECT_DOUBLE_EQ(law.level(4), 0);
}

/// `seconds` of a host at a steady rate; returns the level at the end.
double run(Tgs& law, double& now_s, double seconds, double rate) {
  double level = 0;
  for (const double end_s = now_s + seconds; now_s < end_s - 0.1;) {
    now_s += 0.25;
    level = law.tick(now_s, probe::RateSample{now_s, 0.25, rate, false});
  }
  return level;
}

TEST(Tgs, ProfilesThenGrowsWhileTheHostIsWithinItsBand) {
  Tgs law;
  double now_s = 100;
  EXPECT_EQ(run(law, now_s, 25, 1000), 0);
  const double first = run(law, now_s, 6, 1000);
  EXPECT_GT(first, 0);
  EXPECT_NEAR(run(law, now_s, 5, 980), 1.5 * first, 1e-9);  // 2 % less is no error to it
  EXPECT_EQ(run(law, now_s, 60, 980), 1);
}

TEST(Tgs, StepsBackBeyondItsBand) {
  Tgs law;
  double now_s = 0;
  run(law, now_s, 90, 1000);
  const double full = run(law, now_s, 5, 1000);
  ASSERT_EQ(full, 1);
  const double missed = run(law, now_s, 10, 950);  // 5 %: out of slow start, then down by 8 %
  EXPECT_LT(missed, 1 / 1.4);
  EXPECT_GT(missed, 0.5);
  EXPECT_LT(run(law, now_s, 10, 900), missed / 5);  // 10 %: a tenth
}

TEST(Tgs, ProfilesAgainWhenTheHostIsAnother) {
  Tgs law;
  double now_s = 0;
  run(law, now_s, 90, 1000);
  EXPECT_EQ(run(law, now_s, 20, 2000), 0);
}

}  // namespace
}  // namespace commensal::lab::bench::collocation
