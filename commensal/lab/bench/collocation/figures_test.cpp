// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <commensal/lab/bench/collocation/run.hpp>
#include <map>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench::collocation {
namespace {

using testing::HasSubstr;

const std::string kPair(collocation_pairs().front().name);
const std::string kServer(collocation_pairs()[2].name);

std::vector<const Arm*> all_arms() {
  std::vector<const Arm*> made;
  for (const Arm& arm : collocation_arms()) made.push_back(&arm);
  return made;
}

TEST(Order, HasEverySliceAndAControlBesideEachOfOurs) {
  std::map<std::string_view, int> firsts;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    core::CounterRng rng(seed);
    const auto order = make_order(all_arms(), 6, 2, rng);
    ASSERT_EQ(order.size(), 6U * 2 + 5 * 2);
    std::map<std::string_view, int> counts;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ++counts[order[i].arm->name];
      if (order[i].arm->name != kOurArm) continue;
      const auto is_control = [&](std::size_t at) {
        return at < order.size() && order[at].arm->name == kControlArm &&
               order[at].block == order[i].block;
      };
      EXPECT_TRUE(is_control(i - 1) || is_control(i + 1)) << seed;
    }
    EXPECT_EQ(counts[kControlArm], 6);
    EXPECT_EQ(counts[kOurArm], 6);
    EXPECT_EQ(counts["tgs"], 2);
    ++firsts[order.front().arm->name];
  }
  EXPECT_GE(firsts.size(), 4U);  // it is random
}

/// A slice of a host that keeps `kept` of its 1000 a second beside a guest at `images_per_s`.
Slice slice(const std::string& pair, std::string_view arm, int index, double kept,
            double images_per_s) {
  core::CounterRng coins(7, static_cast<std::uint64_t>(index));
  Slice made;
  made.pair = pair;
  made.index = index;
  made.arm = arm;
  made.begin_s = 62.0 * index;
  made.seconds = 60;
  made.governor_cpu = 0.0004;
  made.stolen = 0.01 * (index % 6);
  made.said = "on";
  for (int i = 0; i < 15; ++i) {
    Epoch epoch;
    epoch.from_s = 4 * i + 0.5;
    epoch.to_s = 4 * i + 4;
    epoch.is_let = coins.next_unit() < 0.5;
    epoch.work_s = 3.5;
    const double noise = 0.0005 * (coins.next_unit() - 0.5);
    epoch.work = 3500 * (1 + noise) * (epoch.is_let ? kept : 1);
    epoch.images = epoch.is_let ? 3.5 * images_per_s : 0;
    made.epochs.push_back(epoch);
  }
  made.points = {{1000, images_per_s}};
  return made;
}

struct OfArm {
  std::string_view arm;
  double kept, images_per_s;
};

/// Six slices of each.
Slices slices_of(const std::string& pair, const std::vector<OfArm>& arms) {
  Slices made;
  made.alone.push_back({pair, 20});
  int index = 0;
  for (int block = 0; block < 6; ++block) {
    for (const auto& [arm, kept, images_per_s] : arms)
      made.slices.push_back(slice(pair, arm, index++, kept, images_per_s));
  }
  return made;
}

Slices usual(double ours_keeps = 0.996) {
  return slices_of(kPair, {{kControlArm, 1, 0},
                           {kOurArm, ours_keeps, 14},
                           {"sched_idle", 0.97, 19},
                           {"nice_19", 0.95, 19.5}});
}

std::vector<PairFigures> figures(const Slices& slices) {
  core::CounterRng rng(1);
  return figures_of(slices, rng);
}

TEST(Figures, CompareStretchesOfTheSameArm) {
  const auto pairs = figures(usual());
  ASSERT_EQ(pairs.size(), 1U);
  const ArmFigures* const ours = pairs[0].find(kOurArm);
  ASSERT_NE(ours, nullptr);
  EXPECT_EQ(ours->slices, 6);
  EXPECT_EQ(ours->let + ours->stopped, 90);
  ASSERT_TRUE(ours->kept);
  EXPECT_NEAR(ours->kept->mean, 0.996, 1e-4);
  EXPECT_GT(ours->kept->low, 0.995);
  ASSERT_TRUE(ours->kept_by_clock);
  EXPECT_NEAR(ours->kept_by_clock->mean, 0.996, 1e-4);
  EXPECT_DOUBLE_EQ(ours->images_per_s, 14);  // while it is let
  EXPECT_DOUBLE_EQ(ours->harvest, 0.7);
  EXPECT_NEAR(pairs[0].find(kControlArm)->kept->mean, 1, 1e-4);
  EXPECT_NEAR(pairs[0].find("sched_idle")->kept->mean, 0.97, 1e-4);
  EXPECT_EQ(pairs[0].find("tgs"), nullptr);
  EXPECT_EQ(pairs[0].stolen, std::pair(0.0, 0.05));
  EXPECT_THAT(text_of(pairs), HasSubstr("others on the hardware took 0.0 to 5.0 % of a slice"));
}

// A host that waits for its memory or its disk needs no more time, but takes it.
TEST(Figures, TellByTheClockToo) {
  Slices made = slices_of(kPair, {{kOurArm, 1, 14}});
  for (Slice& one : made.slices) {
    for (Epoch& epoch : one.epochs) {
      if (!epoch.is_let) continue;
      epoch.work *= 0.9;
      epoch.work_s *= 0.9;
    }
  }
  const ArmFigures ours = figures(made)[0].arms[0];
  EXPECT_NEAR(ours.kept->mean, 1, 1e-4);
  EXPECT_NEAR(ours.kept_by_clock->mean, 0.9, 1e-4);
}

const bench::Row* find_bar(const std::vector<bench::Row>& rows, const std::string& name) {
  for (const bench::Row& row : rows) {
    if (row.limit && row.name.ends_with(name)) return &row;
  }
  return nullptr;
}

bool is_ok(const std::vector<bench::Row>& rows, const std::string& name) {
  const bench::Row* const bar = find_bar(rows, name);
  if (bar == nullptr) ADD_FAILURE() << "no bar " << name;
  return bar != nullptr && bar->ok();
}

TEST(Figures, BarsHoldAndFail) {
  const auto good = rows_of(figures(usual()));
  for (const char* bar : {"kept_lower_95", ".harvest", "harvest_rank", "governor_cpu_share"})
    EXPECT_TRUE(is_ok(good, bar)) << bar;
  // Full speed cost 3 %: 0.4 / 3 of it would have been enough.
  EXPECT_NEAR(find_bar(good, ".harvest")->value, 14 / 19.0, 1e-9);
  EXPECT_NEAR(*find_bar(good, ".harvest")->limit, 0.4 / 3, 1e-3);
  const auto bad = rows_of(figures(usual(0.98)));
  EXPECT_FALSE(is_ok(bad, "kept_lower_95"));
  EXPECT_FALSE(is_ok(bad, "harvest_rank"));
  EXPECT_TRUE(is_ok(bad, ".harvest"));
}

// Whoever harvests more and keeps the promise on all pairs comes first.
TEST(Figures, RankOverAllPairs) {
  Slices made = slices_of(kPair, {{kOurArm, 0.996, 10}, {"tgs", 0.995, 12}});
  EXPECT_FALSE(is_ok(rows_of(figures(made)), "harvest_rank"));
  const auto add = [&](double tgs_keeps) {
    Slices both = made;
    Slices other = slices_of(kServer, {{kOurArm, 0.996, 10}, {"tgs", tgs_keeps, 12}});
    both.alone.push_back(other.alone[0]);
    both.slices.insert(both.slices.end(), other.slices.begin(), other.slices.end());
    return rows_of(figures(both));
  };
  EXPECT_FALSE(is_ok(add(0.995), "harvest_rank"));
  EXPECT_TRUE(is_ok(add(0.95), "harvest_rank"));
  // Ours alone is compared with nobody.
  const auto alone = rows_of(figures(slices_of(kPair, {{kOurArm, 0.996, 12}})));
  EXPECT_EQ(find_bar(alone, "harvest_rank"), nullptr);
  EXPECT_EQ(*find_bar(alone, ".harvest")->limit, 0.5);
  EXPECT_DOUBLE_EQ(find_bar(alone, ".harvest")->value, 0.6);
}

TEST(Figures, SayNothingOfTooFewStretches) {
  Slices made = slices_of(kPair, {{kOurArm, 1, 12}});
  for (Slice& one : made.slices) one.epochs.clear();
  const auto pairs = figures(made);
  EXPECT_FALSE(pairs[0].arms[0].kept);
  EXPECT_EQ(find_bar(rows_of(pairs), "harvest_rank"), nullptr);
  EXPECT_FALSE(is_ok(rows_of(pairs), "kept_lower_95"));
}

TEST(Figures, CompareTailsOfAServer) {
  const auto of = [](int requests) {
    Slices made = slices_of(kServer, {{kOurArm, 1, 1}});
    core::CounterRng rng(2);
    for (Slice& one : made.slices) {
      for (Epoch& epoch : one.epochs) {
        for (int i = 0; i < requests; ++i) {
          const double ms = 10 + 0.1 * rng.next_unit();
          epoch.latencies_ms.push_back(epoch.is_let ? 1.02 * ms : ms);
        }
      }
    }
    return rows_of(figures(made));
  };
  EXPECT_TRUE(is_ok(of(50), "p99_ratio"));
  EXPECT_NEAR(find_bar(of(50), "p99_ratio")->value, 1.02, 1e-3);
  EXPECT_EQ(find_bar(of(0), "p99_ratio"), nullptr);
}

TEST(Slices, AreReadBackAndTakenUpAgain) {
  const Slices made = usual();
  std::string text = to_line(made.alone[0]);
  for (const Slice& one : made.slices) text += to_line(one);
  const auto read = read_slices(text + "{\"pair\": \"cut o");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->slices.size(), made.slices.size());
  const Slice* const last = read->find(kPair, made.slices.back().index);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(to_line(*last), to_line(made.slices.back()));
  EXPECT_EQ(read->find_alone(kPair)->images_per_s, 20);
  EXPECT_EQ(read->find(kPair, 100'000), nullptr);
  const auto bad = read_slices(text + "{\"pair\": 1}\n");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("line 26 "));
}

TEST(Charts, AreOnePictureForEachPair) {
  const Slices made = usual();
  const auto charts = collocation_charts(made, figures(made));
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0].first, kPair + ".svg");
  for (const char* part : {">control<", ">commensal<", "kept 0.996, guest 0.700"})
    EXPECT_THAT(charts[0].second, HasSubstr(part));
}

TEST(Collocation, RefusesWhatItDoesNotKnow) {
  CollocationOptions options;
  options.pairs = {"equihash_9_gpt"};
  const auto made = run_collocation(options, core::SystemClock());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("expected pairs out of equihash_1_resnet50 "));
}

}  // namespace
}  // namespace commensal::lab::bench::collocation
