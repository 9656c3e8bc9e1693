// SPDX-License-Identifier: Apache-2.0
// The promise, and what is harvested under it, beside hosts that are made up.
#include <gtest/gtest.h>

#include <commensal/collocation/governor/testing/synthetic_host.hpp>
#include <utility>

namespace commensal::governor::testing {
namespace {

constexpr double kHour = 3600;

SyntheticHost::OfTime constant(double value) {
  return [value](double) { return value; };
}

/// What hosts are promised, whatever they do: of a hundred hours ninety-five, by the truth.
struct Kept {
  long hours = 0, kept = 0;
  double lost = 0, runs = 0;

  void add(const Outcome& outcome, const std::string& what) {
    hours += outcome.hours;
    kept += outcome.hours_kept;
    lost += outcome.lost;
    ++runs;
    EXPECT_LE(outcome.worst_hour, 0.015) << what;
  }
  void expect() const {
    EXPECT_GE(static_cast<double>(kept), 0.95 * static_cast<double>(hours)) << kept << "/" << hours;
    EXPECT_LE(lost / runs, 0.005);
  }
};

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
      [](SyntheticHost& host) { host.slope = [](double t) { return t < 4200 ? 0.002 : 0.1; }; });
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
  add("costs more than in proportion", [](SyntheticHost& host) { host.bend = 2; });
  add("costs less than in proportion", [](SyntheticHost& host) { host.bend = 0.5; });
  for (const auto& [name, lag_s] : {std::pair("it warms up at once", 10.0),
                                    {"it warms up in a minute", 60.0},
                                    {"it warms up in two minutes", 120.0}}) {
    add(name, [lag_s = lag_s](SyntheticHost& host) {
      host.slope = constant(0.005);
      host.lag = 0.02;
      host.lag_s = lag_s;
    });
  }
  return hosts;
}

TEST(GovernorPromise, HoldsForSteadyHosts) {
  Kept all;
  for (const double slope : {0.0, 0.002, 0.01, 0.05, 0.2, 0.6, 1.0}) {
    for (const double noise : {0.002, 0.01, 0.03, 0.1}) {
      SyntheticHost host;
      host.noise = noise;
      host.slope = constant(slope);
      all.add(run(host, 2 * kHour, 7), fmt::format("slope {}, noise {}", slope, noise));
    }
  }
  all.expect();
}

TEST(GovernorPromise, HoldsForOddHosts) {
  Kept all;
  for (const Named& named : odd_hosts()) {
    for (const std::uint64_t seed : {1, 2}) all.add(run(named.host, 3 * kHour, seed), named.name);
  }
  all.expect();
}

TEST(GovernorPromise, HoldsForRandomHosts) {
  core::CounterRng rng(11);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, rng.next_unit());
  };
  Kept all;
  for (int i = 0; i < 60; ++i) {
    SyntheticHost host;
    host.noise = between(0.001, 0.1);
    host.memory_s = between(0.1, 3);
    host.probe_s = between(0.1, 2);
    host.lag = rng.next_unit() < 0.5 ? 0 : between(0.001, 0.05);
    host.lag_s = between(5, 120);
    const double slope = between(0.001, 1);
    const double wander = rng.next_unit();
    const double drift = between(0.001, 0.1);
    const double period_s = between(60, 3000);
    host.slope = [=](double t) { return slope * (1 + wander * std::sin(t / period_s)) / 2; };
    host.alone = [=](double t) { return 50 * (1 + drift * std::sin(2 * t / period_s)); };
    const Outcome outcome = run(host, 2 * kHour, 100 + static_cast<std::uint64_t>(i));
    all.add(outcome, fmt::format("host {}: slope {}, noise {}, lag {} in {} s", i, slope,
                                 host.noise, host.lag, host.lag_s));
  }
  all.expect();
}

/// Of what a guest could have that costs half the promise.
double share_of(double harvest, double cost) { return harvest / std::min(1.0, 0.005 / cost); }

// Three per cent of noise in four seconds: nearly all that the promise leaves is harvested, within
// the hour, and at once on the second day.
TEST(GovernorHarvest, TakesWhatThePromiseLeaves) {
  for (const double cost : {0.002, 0.005, 0.01, 0.05}) {
    double soon = 0, late = 0, next_day = 0;
    constexpr int kSeeds = 4;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      SyntheticHost host;
      host.noise = 0.06;
      host.slope = constant(cost);
      const Outcome outcome = run(host, 5 * kHour, seed);
      soon += share_of(outcome.half_hours[1], cost) / kSeeds;
      late += share_of(outcome.half_hours.back(), cost) / kSeeds;
      const Carried tomorrow = later(outcome.carried, 20 * kHour, {});
      next_day += share_of(run(host, kHour, seed + 100, tomorrow).harvest, cost) / kSeeds;
      EXPECT_EQ(outcome.last.trips, 0) << cost;
    }
    EXPECT_GE(soon, 0.45) << cost;
    EXPECT_GE(late, 0.7) << cost;
    EXPECT_GE(next_day, 0.7) << cost;
  }
}

TEST(GovernorHarvest, FindsTheCostOfItsGuest) {
  SyntheticHost host;
  const Outcome outcome = run(host, kHour, 5);
  EXPECT_NEAR(outcome.last.cost, 0.05, 4 * outcome.last.cost_sd);
  EXPECT_LT(outcome.last.cost_sd, 0.01);
  EXPECT_TRUE(outcome.last.is_shown);
}

}  // namespace
}  // namespace commensal::governor::testing
