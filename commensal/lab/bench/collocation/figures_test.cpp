// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

Slice slice(const std::string& pair, std::string_view arm, int block, double begin_s,
            double host_rate, double images_per_s) {
  static int index = 0;
  Slice made;
  made.pair = pair;
  made.index = ++index;
  made.arm = arm;
  made.block = block;
  made.begin_s = begin_s;
  made.seconds = 60;
  made.host_rate = host_rate;
  made.images_per_s = images_per_s;
  made.governor_cpu = 0.0005;
  made.stolen = 0.01 * block;
  made.points = {{host_rate, images_per_s, 0.5}};
  return made;
}

/// A host that slows down by 2 % in the course of it, and loses `lost` to ours.
Slices drifting(double lost) {
  Slices made;
  made.alone.push_back({kPair, 20});
  const auto rate = [](double at_s) { return 1000 * std::exp(-at_s / 60000); };
  double at_s = 0;
  for (int block = 0; block < 6; ++block) {
    // The scatter is in pairs of one sign and the other.
    const double noise = block % 2 == 0 ? 0.001 : -0.001;
    made.slices.push_back(slice(kPair, kControlArm, block, at_s, rate(at_s), 0));
    at_s += 60;
    made.slices.push_back(slice(kPair, kOurArm, block, at_s, rate(at_s) * (1 - lost + noise), 2));
    at_s += 60;
    made.slices.push_back(slice(kPair, "sched_idle", block, at_s, rate(at_s) * 0.95, 19));
    at_s += 60;
  }
  made.slices.push_back(slice(kPair, kControlArm, 6, at_s, rate(at_s), 0));
  return made;
}

TEST(Figures, CompareWithTheControlsOfTheirOwnTime) {
  const auto pairs = figures_of(drifting(0.004));
  ASSERT_EQ(pairs.size(), 1U);
  const ArmFigures* const ours = pairs[0].find(kOurArm);
  ASSERT_NE(ours, nullptr);
  EXPECT_NEAR(ours->kept.mean, 0.996, 1e-6);
  // Standard error 0.001 sqrt(6/5) / sqrt(6), five degrees of freedom: t = 2.5706.
  EXPECT_NEAR(ours->kept.low, 0.996 - 2.5706 * 0.001 / std::sqrt(5), 2e-6);
  EXPECT_NEAR(ours->worst_minute, 0.995, 1e-6);
  // The last control has nobody behind it: the host had slowed down since the one before.
  EXPECT_NEAR(pairs[0].find(kControlArm)->worst_minute, std::exp(-0.003), 1e-6);
  EXPECT_DOUBLE_EQ(ours->harvest, 0.1);
  EXPECT_NEAR(pairs[0].find(kControlArm)->kept.mean, 1, 1e-3);
  EXPECT_NEAR(pairs[0].find("sched_idle")->kept.mean, 0.95, 1e-6);
  EXPECT_EQ(pairs[0].find("tgs"), nullptr);
  EXPECT_EQ(pairs[0].stolen, std::pair(0.0, 0.06));
  EXPECT_THAT(text_of(pairs), HasSubstr("others on the hardware took 0.0 to 6.0 % of a slice"));
}

TEST(Figures, OfFewSlicesScatterLikeTheControls) {
  // Standard deviation 0.1, two degrees of freedom: t = 4.3027.
  EXPECT_NEAR(share95({0.99}, {0.9, 1, 1.1}).low, 0.99 - 0.43027, 1e-5);
  EXPECT_NEAR(share95({0.98, 1}, {0.9, 1, 1.1}).high, 0.99 + 0.43027 / std::sqrt(2), 1e-5);
  EXPECT_EQ(share95({0.98, 0.99, 1}, {0.9, 1, 1.1}).low, share95({0.98, 0.99, 1}).low);
  EXPECT_EQ(share95({0.99}).low, -INFINITY);
}

bool is_ok(const std::vector<bench::Row>& rows, const std::string& name) {
  for (const bench::Row& row : rows) {
    if (row.limit && row.name.ends_with(name)) return row.ok();
  }
  ADD_FAILURE() << "no bar " << name;
  return false;
}

TEST(Figures, BarsHoldAndFail) {
  const auto good = rows_of(figures_of(drifting(0.004)));
  for (const char* bar : {"kept_lower_95", "worst_minute_beyond_control", "harvest_rank"})
    EXPECT_TRUE(is_ok(good, bar)) << bar;
  EXPECT_TRUE(is_ok(good, "governor_cpu_share"));
  const auto bad = rows_of(figures_of(drifting(0.02)));
  EXPECT_FALSE(is_ok(bad, "kept_lower_95"));
  EXPECT_FALSE(is_ok(bad, "worst_minute_beyond_control"));
  // Whoever harvests more and keeps the promise comes first.
  Slices better = drifting(0.004);
  for (Slice& one : better.slices) {
    if (one.arm == "sched_idle") one.host_rate /= 0.95;
  }
  EXPECT_FALSE(is_ok(rows_of(figures_of(better)), "harvest_rank"));
}

TEST(Within, ComparesWithTheRestsBeside) {
  Slice made;
  const auto add = [&](int count, double rate, double level) {
    for (int i = 0; i < count; ++i) made.points.push_back({rate, 0, level});
  };
  EXPECT_EQ(kept_within((add(8, 100, 0), made)), 1);
  // The host slows down by itself from 100 to 80; the guest costs it a tenth for 4 of 40 points.
  add(12, 100, 0);
  add(4, 81, 0.5);
  add(16, 80, 0);
  EXPECT_NEAR(kept_within(made).value(), 1 - 0.1 * (1 - 81 / 90.0), 1e-9);
  made.points.clear();
  add(10, 100, 1);
  EXPECT_EQ(kept_within(made), std::nullopt);
}

TEST(Figures, CompareTailsWithinABlock) {
  Slices made;
  made.alone.push_back({kServer, 20});
  for (int block = 0; block < 4; ++block) {
    auto control = slice(kServer, kControlArm, block, 200.0 * block, 10, 0);
    auto ours = slice(kServer, kOurArm, block, 200.0 * block + 100, 10, 1);
    control.p99_ms = 10 * (block + 1);  // other requests in each block
    ours.p99_ms = 10.2 * (block + 1);
    made.slices.push_back(control);
    made.slices.push_back(ours);
  }
  const auto pairs = figures_of(made);
  ASSERT_TRUE(pairs[0].find(kOurArm)->p99);
  EXPECT_NEAR(pairs[0].find(kOurArm)->p99->mean, 1.02, 1e-9);
  EXPECT_TRUE(is_ok(rows_of(pairs), "p99_ratio"));
}

TEST(Slices, AreReadBackAndTakenUpAgain) {
  const Slices made = drifting(0.004);
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
  EXPECT_THAT(bad.error().message, HasSubstr("line 21 "));
}

TEST(Charts, AreOnePictureForEachPair) {
  const auto charts = collocation_charts(drifting(0.004));
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0].first, kPair + ".svg");
  for (const char* part : {">control<", ">commensal<", "kept 0.996, guest 0.100"})
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
