// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/collocation/governor/governor.hpp>
#include <limits>
#include <numbers>

namespace commensal::governor {
namespace {

using probe::RateSample;

// What is not known is not said: a plan of so many seconds is no measurement, a dead host has no
// rate.
TEST(GovernorStatus, SaysWhatIsKnown) {
  core::CounterRng rng(1);
  Governor governor(Rules{}, rng);
  EXPECT_EQ(governor.status().hour_s, 0);
  double known_s = 0;
  bool odd = false;  // a rate that never changes would count as frozen
  for (double now_s = 0; now_s < 1200; now_s += 0.25) {
    governor.tick(now_s, RateSample{now_s, 0.25, (odd = !odd) ? 1001.0 : 999.0});
    if (known_s == 0 && governor.status().hour_s > 0) known_s = now_s;
    EXPECT_LE(governor.status().hour_s, now_s);
    EXPECT_LE(governor.status().loss_high, 1) << "no more than all of it";
  }
  EXPECT_GT(known_s, 10);
  EXPECT_GT(governor.status().rate, 900);
  for (double now_s = 1200; now_s < 1230; now_s += 0.25) governor.tick(now_s, std::nullopt);
  EXPECT_EQ(governor.status().phase, Phase::kWaiting);
  EXPECT_EQ(governor.status().rate, 0);
}

// What was said of the stretch before the first epoch is not said of epochs.
TEST(GovernorStatus, IsOfTheHostAloneUntilTheFirstEpoch) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    core::CounterRng dice(seed), noise(2);
    Governor governor(Rules{}, dice);
    int alone = 0;
    for (double now_s = 0; now_s < 60; now_s += 0.25) {
      governor.tick(now_s, RateSample{now_s, 0.25, 1000 + noise.next_unit()});
      const Status now = governor.status();
      if (now.phase != Phase::kAlone) {
        EXPECT_EQ(now.why, "") << name_of(now.phase);
      } else {
        ++alone;
        EXPECT_EQ(now.why, "the host is looked at alone first");
        EXPECT_EQ(name_of(now.phase), "host alone");
      }
    }
    EXPECT_GT(alone, 10);
  }
}

// Of a host whose rate is by the time that it needed: what scatters is what others take of it.
TEST(GovernorStatus, SaysHowMuchOfTheScatterIsOthers) {
  const auto seen = [](double taken) {
    core::CounterRng rng(3);
    Governor governor(Rules{}, rng);
    for (double now_s = 0; now_s < 600; now_s += 0.5) {
      RateSample sample{now_s, 0.5, 1000 * (1 + 0.01 * (rng.next_unit() - 0.5))};
      sample.given = 1 - taken * rng.next_unit();
      sample.rate *= sample.given;
      governor.tick(now_s, sample);
    }
    return governor.status();
  };
  EXPECT_GT(seen(0.2).scatter, 0.01);
  EXPECT_GT(seen(0.2).not_given, 0.8 * seen(0.2).scatter);
  EXPECT_LT(seen(0).scatter, 0.01);
  EXPECT_EQ(seen(0).not_given, 0);
}

// Whatever is looked at and however often: of a hundred hours the truth is above the upper end in
// five at most.
TEST(GovernorHour, HoldsAtEveryLook) {
  core::CounterRng rng(5);
  const auto gaussian = [&] {
    const double radius = std::sqrt(-2 * std::log(1 - rng.next_unit()));
    return radius * std::cos(2 * std::numbers::pi * rng.next_unit());
  };
  constexpr int kHours = 2000;
  int wrong = 0, narrow = 0;
  for (int i = 0; i < kHours; ++i) {
    Hour hour(Rules{});
    bool is_wrong = false;
    for (int epoch = 0; epoch < 180; ++epoch) {
      hour.add(0.6 * gaussian(), 0.36);  // seconds, around a truth of none
      is_wrong = is_wrong || hour.lost_high_s() < 0;
    }
    wrong += is_wrong ? 1 : 0;
    narrow += hour.lost_high_s() < 36 ? 1 : 0;
  }
  EXPECT_LE(wrong, kHours / 20);
  EXPECT_GE(narrow, kHours / 2) << "and it says something";
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

  RateSample sample(double rate = 1000) { return sample_at(now_s, rate); }
  RateSample sample_at(double at_s, double rate = 1000) {
    return {at_s, 0.25, rate * (1 + 0.002 * (noise.next_unit() - 0.5)), false};
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
  /// Until the guest is on, and what it costs is known.
  void warm_up() {
    for (int i = 0; i < 2400; ++i) tick(sample_at(now_s + 0.25));
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

// A host that rests now and then has no noisier work for it.
TEST(GovernorSignal, AHostThatRestsIsWaitedFor) {
  Stand stand;
  stand.warm_up();
  const double end_s = stand.now_s + 60;
  while (stand.now_s < end_s) stand.tick(RateSample{stand.now_s + 0.25, 0.25, 0, false});
  EXPECT_EQ(stand.level, 0);
  EXPECT_EQ(stand.governor.status().why, "the host does no work");
  EXPECT_EQ(stand.governor.status().trips, 0);
  stand.warm_up();
  Stand late;  // it rests to begin with
  while (late.now_s < 20) late.tick(RateSample{late.now_s + 0.25, 0.25, 0, false});
  EXPECT_EQ(late.governor.status().why, "the host does no work");
  while (late.now_s < 30) late.tick(std::nullopt);
  EXPECT_EQ(late.governor.status().why, "the signal is stale");
  late.warm_up();
  EXPECT_TRUE(std::isfinite(late.governor.status().cost));
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
  stand.tick(RateSample{stand.now_s + 0.25, 0.1, 1000, false});
  ASSERT_GT(stand.level, 0);
  stand.tick(RateSample{stand.now_s + 0.25, 0.1, 800, false});
  EXPECT_EQ(stand.level, 0);
  // The rate is back once the guest is gone: so it was the guest.
  for (int i = 0; i < 160 && stand.governor.status().trips == 0; ++i) {
    stand.now_s += 0.25;
    stand.level = stand.governor.tick(stand.now_s, stand.sample());
    EXPECT_EQ(stand.level, 0);
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
  Stand stand;
  stand.warm_up();
  stand.tick(stand.sample_at(stand.now_s + 0.25));
  RateSample throttled = stand.sample();
  throttled.at_s = stand.now_s + 0.25;
  throttled.is_throttled = true;
  stand.tick(throttled);
  EXPECT_EQ(stand.level, 0);
  for (int i = 0; i < 160 && stand.governor.status().trips == 0; ++i) {
    stand.now_s += 0.25;
    stand.level = stand.governor.tick(stand.now_s, stand.sample());
  }
  EXPECT_EQ(stand.governor.status().why, "power or heat limits the host");
}

// It may have been the guest that stopped it for good.
TEST(GovernorTrip, SilenceAfterAGrossLossIsTheGuests) {
  Stand stand;
  stand.warm_up();
  stand.tick(RateSample{stand.now_s + 0.25, 0.1, 1000, false});
  stand.tick(RateSample{stand.now_s + 0.25, 0.1, 100, false});
  EXPECT_EQ(stand.level, 0);
  const double before_s = stand.governor.carried().hour.lost_s;
  const double silent_s = stand.now_s;
  while (stand.now_s < silent_s + 2 * Rules{}.stale) stand.tick(std::nullopt);
  EXPECT_EQ(stand.governor.status().trips, 1);
  EXPECT_EQ(stand.governor.status().why, "the signal is stale");
  EXPECT_GE(stand.governor.carried().hour.lost_s, before_s + 9) << "while it lasts";
  for (int i = 0; i < 40; ++i) stand.tick(stand.sample_at(stand.now_s + 0.25));
  EXPECT_EQ(stand.governor.status().phase, Phase::kBackOff);
  EXPECT_GE(stand.governor.carried().hour.lost_s, before_s + 9);
}

// A guest that stops its host for ten seconds, once in a hundred of its own.
TEST(GovernorTrip, AGuestThatStopsItsHostNowAndThenHardlyRuns) {
  Stand stand;
  double ran_s = 0, until_s = 0, lost_s = 0;
  while (stand.now_s < 6 * 3600) {
    ran_s += stand.level * 0.25;
    if (ran_s >= 100) {
      ran_s = 0;
      until_s = stand.now_s + 10;
    }
    const bool is_silent = stand.now_s < until_s;
    lost_s += is_silent ? 0.25 : 0;
    stand.tick(is_silent ? std::nullopt : std::optional(stand.sample_at(stand.now_s + 0.25)));
  }
  EXPECT_LE(lost_s, 6 * 40);
  EXPECT_GE(stand.governor.status().trips, 2);
}

// It begins fast, but no faster than can be borne if the guest takes all; what it loses is learnt.
TEST(GovernorFirstLook, IsShortFastAndNoTrip) {
  Stand stand;
  stand.go_on(true);
  EXPECT_GE(stand.level, 0.8);
  double lost_s = 0;
  while (stand.now_s < 60) {
    const double level = stand.level;
    lost_s += level * 0.25;
    stand.now_s += 0.25;
    stand.level = stand.governor.tick(stand.now_s, stand.sample(1000 * (1 - level)));
  }
  EXPECT_LE(lost_s, 0.03 * 60);
  EXPECT_EQ(stand.governor.status().trips, 0);
  EXPECT_GT(stand.governor.status().cost, 0.9);
}

// Whatever is known: lengths, levels and probabilities within their bounds, and a minute's cap kept
// by what is feared.
TEST(GovernorDesign, KeepsItsBounds) {
  core::CounterRng rng(3);
  const Rules rules;
  for (int i = 0; i < 20000; ++i) {
    Known known;
    const double cost = std::pow(10, -4 * rng.next_unit());
    known.cost = {cost, cost * 2 * rng.next_unit()};
    known.at_once = known.cost;
    known.noise = std::pow(10, -6 * rng.next_unit());
    known.least_s = 1.8 + 30 * rng.next_unit();
    known.hour_left_s = 3600 * rng.next_unit();
    known.minute_run_s = 60 * rng.next_unit() * rng.next_unit();
    known.level_tried = rng.next_unit();
    known.seconds_before = known.least_s + 20 * rng.next_unit();
    Hour hour(rules);
    hour.add_run(1000 * rng.next_unit());
    hour.add(20 * rng.next_unit(), 50 * rng.next_unit());
    const Plan plan = design(rules, hour, known).plan;
    if (plan.draw == 0) continue;
    EXPECT_GE(plan.draw, rules.draw_min);
    EXPECT_LE(plan.draw, rules.draw_max);
    EXPECT_GE(plan.seconds, known.least_s);
    EXPECT_LE(plan.seconds, std::max(known.least_s, rules.epoch_max));
    EXPECT_GT(plan.level, 0);
    EXPECT_LE(plan.level, std::min(1.0, 2 * known.level_tried));
    const double feared = std::min(1.0, known.cost.mean + 2 * known.cost.sd);
    EXPECT_LE((known.minute_run_s + plan.level * plan.seconds) * feared,
              rules.minute_set_point * 60 * (1 + 1e-6));
  }
}

// What is not known well is tried half of the time, and more often where a minute bears it anyway.
TEST(GovernorDesign, TriesMoreOftenWhatAMinuteBears) {
  const Rules rules;
  Known known;
  known.noise = 1e-3;
  known.least_s = 1.8;
  known.hour_left_s = 3500;
  known.level_tried = 1;
  known.cost = known.at_once = {0.002, 0.03};
  EXPECT_EQ(design(rules, Hour(rules), known).plan.draw, rules.draw_explore);
  known.cost = known.at_once = {0.002, 0.011};
  EXPECT_EQ(design(rules, Hour(rules), known).plan.draw, rules.draw_explore);
  known.drawn = rules.draw_first;  // what was learnt before is held to be so
  EXPECT_EQ(design(rules, Hour(rules), known).plan.draw, rules.draw_harmless);
}

TEST(Rules, OfAMinuteAreNamedAsThoseOfAnHour) {
  const Rules usual;
  const Rules same = promising(usual.promise, usual.minute_promise);
  EXPECT_DOUBLE_EQ(same.set_point, usual.set_point);
  EXPECT_DOUBLE_EQ(same.minute_set_point, usual.minute_set_point);
  EXPECT_LT(usual.minute_set_point, usual.minute_promise);
  const Rules twice = promising(2 * usual.promise, 2 * usual.minute_promise);
  EXPECT_DOUBLE_EQ(twice.minute_promise, 0.06);
  EXPECT_DOUBLE_EQ(twice.minute_set_point, 2 * usual.minute_set_point);
}

}  // namespace
}  // namespace commensal::governor
