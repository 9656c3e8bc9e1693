// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/verify/spot/check.hpp>

namespace commensal::spot {
namespace {

using graph::testing::GraphMaker;
using tensor::Tensor;

TEST(SpotChecks, AsManySamplesAsTheFormulaSays) {
  EXPECT_EQ(*samples_for({.fraction = 0.01, .escape = 0.05}), 299U);
  EXPECT_EQ(*samples_for({.fraction = 0.5, .escape = 0.001}), 10U);
  EXPECT_EQ(*samples_for({.fraction = 1, .escape = 0.5}), 1U);
  EXPECT_EQ(*samples_for({.fraction = 1e-300, .escape = 0.5}), std::uint64_t{1} << 62);
  for (const auto& [f, e] : {std::pair{0.0, 0.5}, {1.1, 0.5}, {0.5, 0.0}, {0.5, 1.0}, {NAN, 0.5}}) {
    EXPECT_FALSE(samples_for({.fraction = f, .escape = e})) << f << " " << e;
  }
}

TEST(SpotChecks, PlacesAreDistinctAndFollowFromTheSeed) {
  core::CounterRng rng(4);
  std::vector<int> hits(10);
  constexpr int kDraws = 3000;
  for (int i = 0; i < kDraws; ++i) {
    const auto seed = rng.next_digest();
    const auto places = draw_places(seed, 10, 3);
    ASSERT_EQ(places.size(), 3U);
    ASSERT_EQ(places, draw_places(seed, 10, 3));
    ASSERT_TRUE(places[0] < places[1] && places[1] < places[2]);
    for (const auto place : places) ++hits[static_cast<std::size_t>(place)];
  }
  const double sigma = std::sqrt(kDraws * 0.3 * 0.7);
  for (const int count : hits) EXPECT_NEAR(count, kDraws * 0.3, 4.5 * sigma);
  EXPECT_EQ(draw_places({}, 3, 7), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(draw_places({}, 0, 7).empty());
}

TEST(SpotChecks, CatchAtTheRateOfTheFormulaAndNeverAnHonestClaim) {
  constexpr std::int64_t kSide = 1000, kWrong = 50;  // a fraction of 5 %
  GraphMaker maker;
  const auto x = maker.input({kSide});
  maker.output(maker.node("Exp", {x}));
  const auto graph = maker.finish();
  std::vector<float> values;
  for (std::int64_t i = 0; i < kSide; ++i) {
    values.push_back(core::counter_symmetric_f32(1, 1, static_cast<std::uint64_t>(i)));
  }
  const std::vector<Tensor> inputs = {Tensor::of<float>({kSide}, values)};
  auto session = graph::Session::create(graph, {});
  const Tensor honest = (*session->run(inputs))[0];
  std::vector<float> bent(honest.data<float>().begin(), honest.data<float>().end());
  for (std::size_t i = 0; i < kWrong; ++i) bent[i * 20] = std::nextafter(bent[i * 20], 9.0f);
  const Tensor fake = Tensor::of<float>({kSide}, bent);

  const SpotPolicy policy{.fraction = 0.05, .escape = 0.2};  // 32 samples
  core::CounterRng rng(5);
  constexpr int kTrials = 400;
  int escaped = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto seed = rng.next_digest();
    const auto good = spot_check(*graph, inputs, 0, honest, seed, policy);
    ASSERT_TRUE(good) << good.error().message;
    ASSERT_FALSE(good->first);
    ASSERT_EQ(good->checked, 32U);
    ASSERT_EQ(good->work.elements, 32U);
    const auto bad = spot_check(*graph, inputs, 0, fake, seed, policy);
    ASSERT_TRUE(bad);
    escaped += bad->first ? 0 : 1;
    if (bad->first) {
      ASSERT_EQ(bad->first->element % 20, 0);
    }
  }
  double chance = 1;  // without repetition
  for (int i = 0; i < 32; ++i) chance *= static_cast<double>(kSide - kWrong - i) / (kSide - i);
  EXPECT_LE(chance, policy.escape);
  EXPECT_NEAR(escaped, kTrials * chance, 4.5 * std::sqrt(kTrials * chance * (1 - chance)));
}

TEST(SpotChecks, AnotherTypeIsADifference) {
  GraphMaker maker;
  maker.output(maker.node("Exp", {maker.input({2})}));
  const std::vector<float> two = {0, 0}, three = {1, 1, 1};
  const std::vector<Tensor> inputs = {Tensor::of<float>({2}, two)};
  const auto report = spot_check(*maker.finish(), inputs, 0, Tensor::of<float>({3}, three), {}, {});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->first);
  EXPECT_EQ(report->first->element, -1);
}

}  // namespace
}  // namespace commensal::spot
