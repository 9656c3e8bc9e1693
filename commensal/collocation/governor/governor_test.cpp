// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/collocation/governor/testing/synthetic_host.hpp>
#include <limits>
#include <tuple>

namespace commensal::governor::testing {
namespace {

using probe::RateSample;

constexpr double kHour = 3600;

SyntheticHost::OfTime constant(double value) {
  return [value](double) { return value; };
}

/// What every host is promised, whatever it does.
void expect_promise(const Outcome& outcome, const std::string& what) {
  const Rules rules;
  EXPECT_LE(outcome.worst_window, rules.promise) << what;
  EXPECT_LE(outcome.lost, 1.1 * rules.set_point) << what;
}

struct Named {
  const char* name;
  SyntheticHost host;
};

std::vector<Named> odd_hosts() {
  std::vector<Named> hosts;
  const auto add = [&](const char* name, auto change) {
    SyntheticHost host;
    change(host);
    hosts.push_back({name, host});
  };
  add("drifting clock", [](SyntheticHost& host) {
    host.alone = [](double t) { return 1000 * (1 + 0.03 * std::sin(t / 100)); };
  });
  add("thermal steps", [](SyntheticHost& host) {
    host.alone = [](double t) { return 1000 * (1 - 0.05 * (static_cast<int>(t / 400) % 3)); };
  });
  add("phases", [](SyntheticHost& host) {
    host.alone = [](double t) { return std::fmod(t, 300) < 150 ? 1000 : 700; };
  });
  add("bursts", [](SyntheticHost& host) {
    host.alone = [](double t) { return std::fmod(t, 7) < 2 ? 1000 : 600; };
  });
  add("the guest's cost jumps",
      [](SyntheticHost& host) { host.slope = [](double t) { return t < 1200 ? 0.002 : 0.1; }; });
  add("the guest's cost wanders", [](SyntheticHost& host) {
    host.slope = [](double t) { return 0.02 * (1 + std::sin(t / 500)); };
  });
  add("a miner that says its mean of ten seconds", [](SyntheticHost& host) {
    host.averaging_s = 10;
    host.probe_s = 1;
  });
  add("coarse figures", [](SyntheticHost& host) { host.resolution = 10; });
  add("now and then it says half of the truth", [](SyntheticHost& host) {
    host.reported = [](double t) { return std::fmod(t, 97) < 5 ? 0.5 : 1.0; };
  });
  add("now and then it says twice the truth", [](SyntheticHost& host) {
    host.reported = [](double t) { return std::fmod(t, 89) < 4 ? 2.0 : 1.0; };
  });
  add("it is heard every other minute",
      [](SyntheticHost& host) { host.speaks = [](double t) { return std::fmod(t, 120) < 60; }; });
  return hosts;
}

TEST(GovernorPromise, HoldsForSteadyHosts) {
  for (const double slope : {0.0, 0.002, 0.01, 0.05, 0.2, 0.6, 1.0}) {
    for (const double noise : {0.002, 0.01, 0.03, 0.1}) {
      SyntheticHost host;
      host.noise = noise;
      host.slope = constant(slope);
      expect_promise(run(host, kHour, 7), fmt::format("slope {}, noise {}", slope, noise));
    }
  }
}

TEST(GovernorPromise, HoldsForOddHosts) {
  for (const Named& named : odd_hosts()) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      expect_promise(run(named.host, kHour, seed), named.name);
    }
  }
}

TEST(GovernorPromise, HoldsForRandomHosts) {
  core::CounterRng rng(11);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, rng.next_unit());
  };
  for (int i = 0; i < 60; ++i) {
    SyntheticHost host;
    host.noise = between(0.001, 0.1);
    host.memory_s = between(0.1, 3);
    host.probe_s = between(0.1, 2);
    const double slope = between(0.001, 1);
    const double wander = rng.next_unit();
    const double drift = between(0.001, 0.1);
    const double period_s = between(60, 3000);
    host.slope = [=](double t) { return slope * (1 + wander * std::sin(t / period_s)) / 2; };
    host.alone = [=](double t) { return 50 * (1 + drift * std::sin(2 * t / period_s)); };
    const Outcome outcome = run(host, kHour, 100 + static_cast<std::uint64_t>(i));
    expect_promise(outcome, fmt::format("host {}: slope {}, noise {}", i, slope, host.noise));
  }
}

// What is not known is not said: a plan of so many seconds is no measurement, a dead host has no
// rate.
TEST(GovernorStatus, SaysWhatIsKnown) {
  core::CounterRng rng(1);
  Governor governor(Rules{}, rng);
  EXPECT_EQ(governor.status().over_s, 0);
  double known_s = 0;
  bool odd = false;  // a rate that never changes would count as frozen
  for (double now_s = 0; now_s < 1200; now_s += 0.25) {
    governor.tick(now_s, RateSample{now_s, 0.25, (odd = !odd) ? 1001.0 : 999.0});
    if (known_s == 0 && governor.status().over_s > 0) known_s = now_s;
    EXPECT_LE(governor.status().over_s, now_s);
  }
  EXPECT_GT(known_s, 10);
  EXPECT_GT(governor.status().rate, 900);
  for (double now_s = 1200; now_s < 1230; now_s += 0.25) governor.tick(now_s, std::nullopt);
  EXPECT_EQ(governor.status().phase, Phase::kWaiting);
  EXPECT_EQ(governor.status().rate, 0);
}

// Nearly all that the promise leaves is harvested: at a set point of 0.5 % that is 0.005 / slope.
TEST(GovernorHarvest, TakesWhatThePromiseLeaves) {
  for (const auto& [slope, noise, least] : {std::tuple(0.0, 0.002, 0.90),
                                            {0.002, 0.01, 0.80},
                                            {0.01, 0.002, 0.42},
                                            {0.05, 0.01, 0.08},
                                            {0.2, 0.01, 0.020}}) {
    SyntheticHost host;
    host.noise = noise;
    host.slope = constant(slope);
    const Outcome outcome = run(host, kHour, 3);
    EXPECT_GE(outcome.late_harvest, least) << slope;
    EXPECT_TRUE(outcome.last.is_shown) << slope;
    EXPECT_EQ(outcome.last.trips, 0) << slope;
  }
}

TEST(GovernorHarvest, FindsTheCostOfItsGuest) {
  SyntheticHost host;
  const Outcome outcome = run(host, kHour, 5);
  EXPECT_NEAR(outcome.last.slope, 0.05, 4 * outcome.last.slope_sd);
  EXPECT_LT(outcome.last.slope_sd, 0.01);
  EXPECT_GE(outcome.last.window_s, Rules{}.window_min);
  EXPECT_LT(outcome.last.window_s, 600);
}

TEST(GovernorSignal, NoGuestWithoutOne) {
  core::CounterRng dice(1);
  Governor governor({}, dice);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(governor.tick(0.1 * i, std::nullopt), 0);
  EXPECT_EQ(governor.status().phase, Phase::kWaiting);
}

/// A governor, and a host of 1000 a second that a guest does not disturb.
struct Stand {
  core::CounterRng dice{1};
  core::CounterRng noise{2};
  Governor governor{{}, dice};
  double now_s = 0;
  double level = 0;

  RateSample sample(double rate = 1000) {
    return {now_s, 0.25, rate * (1 + 0.002 * (noise.next_unit() - 0.5)), false};
  }
  void tick(std::optional<RateSample> sample) { level = governor.tick(now_s += 0.25, sample); }
  /// Until the guest is on, or off.
  void go_on(bool until_on) {
    for (int i = 0; i < 2400 && (level > 0) != until_on; ++i) {
      now_s += 0.25;
      level = governor.tick(now_s, sample());
    }
    ASSERT_EQ(level > 0, until_on);
  }
  /// Until the guest is on, after its first look.
  void warm_up() {
    go_on(true);
    go_on(false);
    go_on(true);
  }
};

TEST(GovernorSignal, SilenceStopsTheGuest) {
  Stand stand;
  stand.warm_up();
  const double silent_s = stand.now_s;
  while (stand.now_s < silent_s + Rules{}.stale + 0.5) stand.tick(std::nullopt);
  EXPECT_EQ(stand.level, 0);
  EXPECT_EQ(stand.governor.status().phase, Phase::kWaiting);
  EXPECT_EQ(stand.governor.status().why, "the signal is stale");
  stand.warm_up();
}

TEST(GovernorSignal, TheSameNumberForeverIsNone) {
  Stand stand;
  stand.warm_up();
  for (int i = 0; i < 4 * 70; ++i) {
    stand.now_s += 0.25;
    stand.level = stand.governor.tick(stand.now_s, RateSample{stand.now_s, 0.25, 1000, false});
  }
  EXPECT_EQ(stand.level, 0);
  EXPECT_EQ(stand.governor.status().why, "the signal is frozen");
}

TEST(GovernorSignal, NonsenseIsIgnored) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Stand stand;
  stand.warm_up();
  const Status before = stand.governor.status();
  const double now = stand.now_s;
  for (const RateSample bad :
       {RateSample{now, 0.25, nan}, RateSample{now, 0.25, -1}, RateSample{now, 0.25, 0},
        RateSample{now, 0.25, infinity}, RateSample{now, 0, 1000}, RateSample{now, nan, 1000},
        RateSample{now + 100, 0.25, 1000}, RateSample{now - 50, 0.25, 1000},
        RateSample{nan, 0.25, 1000}}) {
    stand.governor.tick(now, bad);
    EXPECT_EQ(stand.governor.status().rate, before.rate);
  }
}

TEST(GovernorSignal, AClockThatJumpsBackStopsTheGuest) {
  Stand stand;
  stand.warm_up();
  stand.now_s -= 1000;
  stand.tick(std::nullopt);
  EXPECT_EQ(stand.level, 0);
  stand.warm_up();
}

TEST(GovernorTrip, AGrossLossStopsTheGuestWithinASample) {
  Stand stand;
  stand.warm_up();
  stand.tick(RateSample{stand.now_s + 0.25, 0.25, 1000, false});
  ASSERT_GT(stand.level, 0);
  stand.tick(RateSample{stand.now_s + 0.25, 0.1, 800, false});
  EXPECT_EQ(stand.level, 0);
  EXPECT_EQ(stand.governor.status().phase, Phase::kCheck);
  // The rate is back once the guest is gone: so it was the guest.
  for (int i = 0; i < 20; ++i) {
    stand.now_s += 0.25;
    stand.level = stand.governor.tick(stand.now_s, stand.sample());
  }
  EXPECT_EQ(stand.governor.status().phase, Phase::kBackOff);
  EXPECT_EQ(stand.governor.status().trips, 1);
  EXPECT_EQ(stand.governor.status().why, "gross loss");
}

TEST(GovernorTrip, WhatTheHostLosesByItselfIsNotTheGuests) {
  Stand stand;
  stand.warm_up();
  for (int i = 0; i < 4 * 120; ++i) {
    stand.now_s += 0.25;
    stand.level = stand.governor.tick(stand.now_s, stand.sample(700));
  }
  EXPECT_EQ(stand.governor.status().trips, 0);
  EXPECT_NEAR(stand.governor.status().reference, 700, 5);
}

TEST(GovernorTrip, APowerLimitCountsAsLoss) {
  SyntheticHost host;
  host.slope = constant(0.0);
  host.throttled = [](double, double level) { return level > 0; };
  const Outcome outcome = run(host, kHour, 1);
  EXPECT_LT(outcome.harvest, 0.01);
  EXPECT_GT(outcome.last.trips, 3);
  Stand stand;
  stand.warm_up();
  stand.tick(stand.sample());
  RateSample throttled = stand.sample();
  throttled.at_s = stand.now_s + 0.25;
  throttled.is_throttled = true;
  stand.tick(throttled);
  EXPECT_EQ(stand.level, 0);
  for (int i = 0; i < 20; ++i) {
    stand.now_s += 0.25;
    stand.level = stand.governor.tick(stand.now_s, stand.sample());
  }
  EXPECT_EQ(stand.governor.status().why, "power or heat limits the host");
}

TEST(GovernorSeed, DecidesTheWholeRun) {
  SyntheticHost host;
  const Outcome one = run(host, 900, 4);
  const Outcome same = run(host, 900, 4);
  const Outcome other = run(host, 900, 5);
  EXPECT_EQ(one.harvest, same.harvest);
  EXPECT_EQ(one.last.loss, same.last.loss);
  EXPECT_NE(one.harvest, other.harvest);
}

// It begins fast, but no faster than can be borne if the guest takes all; what it loses is learnt.
TEST(GovernorFirstLook, IsShortFastAndNoTrip) {
  const Rules rules;
  for (const double part_s : {1.0, 5.0, 20.0}) {
    const Plan plan = make_first_plan(rules, part_s);
    EXPECT_LE(plan.level * plan.on_s, rules.first_look * rules.window_min + 1e-12);
    EXPECT_GE(plan.off_s, part_s);
  }
  Stand stand;
  stand.go_on(true);
  EXPECT_GT(stand.level, 0.9);
  stand.tick(stand.sample());
  stand.tick(RateSample{stand.now_s + 0.25, 0.2, 100, false});
  EXPECT_EQ(stand.level, 0);
  stand.go_on(true);
  EXPECT_LT(stand.level, 0.1);
  EXPECT_EQ(stand.governor.status().trips, 0);
  EXPECT_GT(stand.governor.status().slope, 0.5);
}

// Every stretch, whatever the numbers: lengths and levels within their bounds, and no more work
// than the budget allows unless a stretch is as short as the probe lets it be.
TEST(GovernorPlan, KeepsItsBounds) {
  core::CounterRng rng(3);
  const Rules rules;
  for (int i = 0; i < 20000; ++i) {
    const double budget = rng.next_unit();
    const double slope = std::pow(10, -4 * rng.next_unit());
    const double part_s = 1 + 20 * rng.next_unit();
    const double cycle_s = 4 * part_s + 30 * rng.next_unit();
    const double part_sd = 0.1 * rng.next_unit();
    const Plan plan = make_plan(rules, {budget, slope, cycle_s, part_s, part_sd}, rng);
    EXPECT_GE(plan.off_s, part_s);
    EXPECT_GE(plan.on_s, part_s);
    EXPECT_LE(plan.on_s, std::max(cycle_s, rules.cycle_rare));
    EXPECT_LE(plan.level, 1);
    const double hidden = std::min(rules.noisy_loss_max, rules.noise_hides * part_sd);
    EXPECT_LE(plan.level * slope, std::max(rules.on_loss_max, hidden) + 1e-12);
    const double cycle_max = std::max(cycle_s, rules.cycle_rare);
    EXPECT_LE(plan.level * plan.on_s, budget * cycle_max * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace commensal::governor::testing
