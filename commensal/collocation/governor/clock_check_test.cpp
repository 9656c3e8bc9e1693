// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/collocation/governor/clock_check.hpp>
#include <commensal/collocation/governor/governor.hpp>
#include <numbers>

namespace commensal::governor {
namespace {

constexpr double kEpochS = 10;

/// Hours of drawn epochs, with a host that loses `cost` by the clock beside a guest at full speed.
struct Checked {
  int stopped = 0;          // hours
  double mean_minutes = 0;  // until then
};

Checked check(double cost, double scatter, double draw, int hours) {
  core::CounterRng rng(9);
  const auto gaussian = [&] {
    const double radius = std::sqrt(-2 * std::log(1 - rng.next_unit()));
    return radius * std::cos(2 * std::numbers::pi * rng.next_unit());
  };
  Checked made;
  for (int hour = 0; hour < hours; ++hour) {
    ClockCheck clock_check(Rules{});
    double now_s = 0;
    for (int i = 0; i < 359 && !clock_check.is_above(); ++i) {
      const bool is_drawn = i >= 5;
      const bool is_on = is_drawn && rng.next_unit() < draw;
      const double rate = 100 * (is_on ? 1 - cost : 1) * std::max(0.05, 1 + scatter * gaussian());
      const Epoch epoch{{kEpochS, 1, is_drawn ? draw : 0}, is_on, kEpochS, kEpochS};
      clock_check.add(now_s += kEpochS, epoch, {is_on ? 1.0 : 0.0, 0}, rate);
    }
    if (!clock_check.is_above()) continue;
    ++made.stopped;
    made.mean_minutes += now_s / 60;
  }
  if (made.stopped > 0) made.mean_minutes /= made.stopped;
  return made;
}

TEST(ClockCheck, ShowsWhatIsLostByTheClock) {
  for (const double draw : {0.2, 0.5, 0.9}) {
    const Checked quiet = check(0.1, 0.01, draw, 50);
    EXPECT_EQ(quiet.stopped, 50) << draw;
    EXPECT_LE(quiet.mean_minutes, draw < 0.5 ? 30 : 8) << draw;
  }
  const Checked noisy = check(0.3, 0.2, 0.5, 50);
  EXPECT_GE(noisy.stopped, 45);
}

TEST(ClockCheck, AccusesNoInnocent) {
  for (const double draw : {0.2, 0.5, 0.9}) {
    for (const double scatter : {0.005, 0.05, 0.23, 0.5}) {
      EXPECT_LE(check(0, scatter, draw, 400).stopped, 20) << draw << " " << scatter;
    }
    EXPECT_LE(check(0.005, 0.02, draw, 400).stopped, 20) << draw;
  }
}

// A process that gets all that it wants has a share of exactly 1.
TEST(ClockCheck, SeesLifeInARateThatMovesByTheClockAlone) {
  core::CounterRng dice(1), noise(2);
  Governor governor({}, dice);
  for (double now_s = 0; now_s < 600; now_s += 0.25) {
    const double by_clock = 0.5 + 0.1 * noise.next_unit();
    governor.tick(
        now_s, probe::RateSample{now_s, 0.25, 1, false, by_clock, 1, probe::Signal::kNeededTime});
    ASSERT_TRUE(now_s < 60 || governor.status().phase != Phase::kWaiting) << now_s;
  }
}

}  // namespace
}  // namespace commensal::governor
