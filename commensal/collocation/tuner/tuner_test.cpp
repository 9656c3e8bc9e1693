// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/tuner/chosen.hpp>
#include <commensal/collocation/tuner/tuner.hpp>
#include <fstream>
#include <memory>

namespace commensal::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// A host in virtual time: what it does a second depends on who runs beside it.
struct World {
  struct Guest {
    double cost = 0, answers_per_s = 0;
    bool is_let = false;
    double answers = 0;
  };

  void pass(double seconds) {
    double rate = 1000 * (1 + drift * now_s());
    for (Guest& guest : guests) {
      if (!guest.is_let) continue;
      rate *= 1 - guest.cost;
      guest.answers += guest.answers_per_s * seconds;
      lost_s += guest.cost * seconds;
    }
    // As its own, over stretches of any length.
    const double noise = noise_in_4s * std::sqrt(4 / seconds) * normal();
    work += rate * seconds * std::max(0.0, 1 + noise);
    clock.advance_ms(static_cast<std::int64_t>(1000 * seconds + 0.5));
  }
  double now_s() const { return 1e-9 * static_cast<double>(clock.monotonic_ns()); }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += dice.next_unit();
    return sum;
  }

  core::ManualClock clock;
  core::CounterRng dice{11};
  std::vector<Guest> guests;
  double work = 0, drift = 0, noise_in_4s = 0, lost_s = 0;
};

class FakeProbe final : public probe::Probe {
 public:
  explicit FakeProbe(World& world) : world_(world) {}
  const probe::Traits& traits() const override { return traits_; }
  probe::Sample sample() override {
    if (!why.empty()) return {.at_ns = world_.clock.monotonic_ns(), .why = why};
    return {world_.clock.monotonic_ns(), world_.work, probe::State::kFresh, {}};
  }
  std::string why;

 private:
  World& world_;
  probe::Traits traits_{.unit = "steps", .quantity = probe::Quantity::kWork};
};

class FakeRunner final : public Runner {
 public:
  explicit FakeRunner(World::Guest& guest) : guest_(guest) {}
  void let(bool runs) override { guest_.is_let = runs; }
  core::Result<std::uint64_t> answers() override {
    return static_cast<std::uint64_t>(guest_.answers);
  }

 private:
  World::Guest& guest_;
};

struct Tuner {
  explicit Tuner(std::vector<World::Guest> guests, double noise = 0.01) {
    world.guests = std::move(guests);
    world.noise_in_4s = noise;
    for (World::Guest& guest : world.guests) {
      owned.push_back(std::make_unique<FakeRunner>(guest));
      runners.push_back(owned.back().get());
    }
  }
  core::Result<Tuning> run(std::uint64_t seed = 1) {
    core::CounterRng rng(seed);
    const auto wait = [this](double seconds) {
      world.pass(seconds);
      most_in_a_minute();
      return world.now_s() < end_s;
    };
    return tune({world.clock, rng, probe, wait}, runners, options);
  }
  void most_in_a_minute() {
    lost.emplace_back(world.now_s(), world.lost_s);
    const auto first = std::ranges::find_if(
        lost, [this](const auto& one) { return one.first >= world.now_s() - 60; });
    worst_minute_s = std::max(worst_minute_s, world.lost_s - first->second);
  }

  World world;
  FakeProbe probe{world};
  std::vector<std::unique_ptr<FakeRunner>> owned;
  std::vector<Runner*> runners;
  TunerOptions options;
  double end_s = 1e9;
  std::vector<std::pair<double, double>> lost;
  double worst_minute_s = 0;
};

TEST(Tuning, ChoosesTheWayThatIsWorthMost) {
  // Faster by a half, at eight times the cost: what the host bears of it is less.
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Tuner tuner({{0.08, 15}, {0.01, 10}, {0.08, 16}});
    tuner.world.dice = core::CounterRng(100 + seed);
    const auto done = tuner.run(seed);
    ASSERT_TRUE(done) << done.error().message;
    right += done->choice() == 1 ? 1 : 0;
    for (const World::Guest& guest : tuner.world.guests) EXPECT_FALSE(guest.is_let);
  }
  EXPECT_GE(right, 19);
}

// The noise of a solver on a shared machine, and two threads on its two processors.
TEST(Tuning, TellsWhatItIsThereFor) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Tuner tuner({{0.07, 13.3}, {0.005, 15.3}, {0.075, 15}}, 0.023);
    tuner.world.dice = core::CounterRng(500 + seed);
    const auto done = tuner.run(seed);
    ASSERT_TRUE(done) << done.error().message;
    right += done->choice() == 1 ? 1 : 0;
  }
  EXPECT_GE(right, 36);
}

TEST(Tuning, StaysWithThePresentWayWhereNothingIsShown) {
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Tuner tuner({{0.01, 10}, {0.01, 10}, {0.01, 10}, {0.01, 10}}, 0.03);
    tuner.world.dice = core::CounterRng(seed);
    const auto done = tuner.run(seed);
    ASSERT_TRUE(done) << done.error().message;
    changed += done->choice() == 0 ? 0 : 1;
  }
  EXPECT_LE(changed, 2);
}

// Where nothing is lost, answers that come in whole batches scatter too.
TEST(Tuning, ScatterOfTheAnswersIsNoDifference) {
  core::CounterRng dice(5);
  int changed = 0;
  for (int i = 0; i < 40; ++i) {
    Tuning tuning(4, {});
    while (const auto way = tuning.next(dice)) {
      tuning.add(*way, {0, 1.8, dice.next_unit() < 0.5 ? 16.0 : 32.0});
    }
    changed += tuning.choice() == 0 ? 0 : 1;
  }
  EXPECT_LE(changed, 2);
}

TEST(Tuning, DriftOfTheHostIsNobodysCost) {
  Tuner tuner({{0.02, 10}, {0, 10}}, 0);
  tuner.world.drift = 1e-4;  // it grows by a hundredth in 100 s
  const auto done = tuner.run();
  ASSERT_TRUE(done);
  EXPECT_NEAR(done->figures(0).loss.mean, 0.02, 1e-4);
  EXPECT_NEAR(done->figures(1).loss.mean, 0, 1e-4);
}

TEST(Tuning, KeepsToItsBudgetAndToTheMinute) {
  Tuner tuner({{0.4, 10}, {0.3, 10}, {0.5, 10}});
  const auto done = tuner.run();
  ASSERT_TRUE(done);
  EXPECT_LE(tuner.world.lost_s, 12 + 1);  // and the stretch in which it was spent
  EXPECT_LE(tuner.worst_minute_s, 0.03 * 60 + 0.1);
}

// Of a probe that averages for long.
TEST(Tuning, WhatNoMinuteBearsIsTriedOnceAndLeftOut) {
  Tuner tuner({{0.01, 10}, {0.2, 40}, {0.01, 10}}, 0);
  tuner.options.stretch_s = 20;
  tuner.options.rules.rounds_max = 6;
  const auto done = tuner.run();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->figures(0).stretches, 6);
  EXPECT_EQ(done->figures(1).stretches, 1);
  EXPECT_EQ(done->choice(), 0U);
  EXPECT_FALSE(done->is_cut_short());
}

// That is where another one is needed most.
TEST(Tuning, WhereNoMinuteBearsThePresentWayAnotherIsChosen) {
  Tuner tuner({{0.2, 40}, {0.01, 10}, {0.01, 12}}, 0);
  tuner.options.stretch_s = 20;
  tuner.options.rules.rounds_max = 6;
  const auto done = tuner.run();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->figures(0).stretches, 1);
  EXPECT_EQ(done->choice(), 2U);
}

TEST(Tuning, SaysWhereItsBudgetWasTooSmall) {
  Tuner tuner({{0.08, 10}, {0.07, 10}}, 0);
  tuner.options.stretch_s = 20;
  const auto done = tuner.run();
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->is_cut_short());
  EXPECT_EQ(done->choice(), 0U);
}

TEST(Tuning, ShortStretchesOfASlowProbeAreLonger) {
  Tuner tuner({{0.02, 10}, {0, 10}}, 0);
  tuner.options.stretch_s = 5;
  tuner.options.rules.rounds_max = 6;
  ASSERT_TRUE(tuner.run());
  EXPECT_NEAR(tuner.world.now_s(), (1 + 2 * 12) * 5.1, 1);
}

TEST(Tuning, SaysWhyItEnds) {
  Tuner silent({{0.02, 10}, {0, 10}});
  silent.probe.why = "connection refused";
  const auto none = silent.run();
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("connection refused"));
  Tuner stopped({{0.02, 10}, {0, 10}});
  stopped.end_s = 20;
  const auto cut = stopped.run();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, core::ErrorCode::kCancelled);
  for (const World::Guest& guest : stopped.world.guests) EXPECT_FALSE(guest.is_let);
}

TEST(Tuning, TheIntervalIsStudents) {
  Tuning tuning(1, {});
  EXPECT_EQ(tuning.figures(0).loss.low, -INFINITY);
  // Standard deviation 0.1, two degrees of freedom: t = 4.3027.
  for (const double loss : {0.1, 0.2, 0.3}) tuning.add(0, {loss, 2, 20});
  EXPECT_NEAR(tuning.figures(0).loss.low, 0.2 - 0.43027 / std::sqrt(3), 1e-5);
  EXPECT_DOUBLE_EQ(tuning.figures(0).answers_per_s.mean, 10);
  EXPECT_NEAR(tuning.lost_s(), 1.2, 1e-9);
}

TEST(Tuning, AWayIsTriedBesideTheOthersInEachRound) {
  Tuning tuning(3, {.rounds_max = 5});
  core::CounterRng rng(1);
  std::vector<int> tried(3);
  for (int i = 0; i < 15; ++i) {
    const auto way = tuning.next(rng);
    ASSERT_TRUE(way);
    ++tried[*way];
    tuning.add(*way, {0.01, 1, 10});
    if (i % 3 != 2) continue;
    EXPECT_THAT(tried, ElementsAre(i / 3 + 1, i / 3 + 1, i / 3 + 1));
  }
  EXPECT_FALSE(tuning.next(rng));
}

TEST(Ways, DifferFromThePresentOneInOneThing) {
  const Way present{2, 4, {}};
  const auto ways = ways_beside(present, 8, 16, {{0, 1, 2, 3}, {4}});
  EXPECT_THAT(ways, ElementsAre(present, Way{1, 4, {}}, Way{4, 4, {}}, Way{8, 4, {}}, Way{2, 1, {}},
                                Way{2, 16, {}}, Way{2, 4, {0, 1, 2, 3}}, Way{1, 4, {4}}));
  EXPECT_EQ(words(ways[6]), "2 threads, 4 requests at once, on processors 0-3");
  EXPECT_EQ(words({1, 1, {0, 2, 3}}), "1 thread, 1 request at once, on processors 0,2-3");
  EXPECT_THAT(ways_beside({1, 1, {}}, 1, 1, {}), ElementsAre(Way{}));
}

/// A machine's folder of processors.
struct Machine {
  void add(int cpu, const std::string& siblings, const std::string& cache) const {
    const core::Path own = folder.path() / fmt::format("cpu{}", cpu);
    std::filesystem::create_directories(own / "topology");
    std::filesystem::create_directories(own / "cache/index3");
    std::ofstream(own / "topology/thread_siblings_list") << siblings << "\n";
    std::ofstream(own / "cache/index3/shared_cpu_list") << cache << "\n";
  }
  std::vector<std::vector<int>> placements(const std::vector<int>& allowed) const {
    return tuner::placements(allowed, folder.path());
  }
  core::TemporaryFolder folder = *core::TemporaryFolder::make("tuner");
};

TEST(Ways, PlacementsAreHardwareThreadsAndCaches) {
  const Machine smt;
  for (int cpu = 0; cpu < 4; ++cpu) smt.add(cpu, cpu % 2 == 0 ? "0,2" : "1,3", "0-3");
  EXPECT_THAT(smt.placements({0, 1, 2, 3}), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  // Of a container that has one core: the other is nobody's to be placed on.
  EXPECT_THAT(smt.placements({0, 2}), ElementsAre(ElementsAre(0), ElementsAre(2)));
  const Machine two_caches;
  for (int cpu = 0; cpu < 4; ++cpu)
    two_caches.add(cpu, std::to_string(cpu), cpu < 2 ? "0-1" : "2-3");
  EXPECT_THAT(two_caches.placements({0, 1, 2, 3}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(two_caches.placements({0, 1}), IsEmpty());
  const Machine alike;
  for (int cpu = 0; cpu < 2; ++cpu) alike.add(cpu, std::to_string(cpu), "0-1");
  EXPECT_THAT(alike.placements({0, 1}), IsEmpty());
  EXPECT_THAT(placements({0, 1}, "/nowhere"), IsEmpty());
  for (const char* const list : {"0-", "-1", "0-99999999999", "a", "0,,1", "3-", ""}) {
    const Machine nonsense;
    for (int cpu = 0; cpu < 2; ++cpu) nonsense.add(cpu, list, list);
    EXPECT_THAT(nonsense.placements({0, 1}), IsEmpty()) << list;
  }
  EXPECT_FALSE(allowed_processors().empty());
}

TEST(Chosen, IsKeptByHostMachineAndNetwork) {
  const auto folder = *core::TemporaryFolder::make("tuner");
  const core::Path file = folder.path() / "deep/ways.json";
  core::Digest one{}, other{};
  other[0] = 1;
  auto chosen = Chosen::read(file).value();
  chosen.add({"xmrig", "left", one, {2, 4, {0, 1}}});
  chosen.add({"xmrig", "left", other, {1, 1, {}}});
  chosen.add({"server", "left", one, {1, 8, {}}});
  chosen.add({"xmrig", "left", one, {3, 4, {0, 1}}});
  ASSERT_TRUE(chosen.save());
  const auto again = Chosen::read(file).value();
  EXPECT_THAT(again.beside("xmrig", "left"),
              ElementsAre(Pair(one, Way{3, 4, {0, 1}}), Pair(other, Way{1, 1, {}})));
  EXPECT_THAT(again.beside("server", "left"), ElementsAre(Pair(one, Way{1, 8, {}})));
  EXPECT_THAT(again.beside("", "left"), IsEmpty());  // two hosts: which of them is meant?
  EXPECT_THAT(again.beside("xmrig", "right"), IsEmpty());
  chosen.forget("xmrig", "left");
  EXPECT_THAT(chosen.beside("", "left"), ElementsAre(Pair(one, Way{1, 8, {}})));
}

TEST(Chosen, DamageIsSaid) {
  const auto folder = *core::TemporaryFolder::make("tuner");
  const core::Path file = folder.path() / "ways.json";
  for (const char* const text :
       {"", "[]", R"({"ways": 1})", R"({"ways": [{}]})",
        R"({"ways": [{"host":"h","machine":"m","model":"00","threads":1,"at_once":1,)"
        R"("processors":[]}]})"}) {
    std::ofstream(file) << text;
    const auto read = Chosen::read(file);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("is damaged"));
  }
}

}  // namespace
}  // namespace commensal::tuner
