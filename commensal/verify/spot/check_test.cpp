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
  EXPECT_NEAR(chance_to_find(0.01, 299, 1000), 0.9505, 0.0001);
  EXPECT_EQ(chance_to_find(0.01, 5, 5), 1);
  EXPECT_EQ(chance_to_find(1, 1, 5), 1);
  EXPECT_EQ(chance_to_find(0.01, 0, 5), 0);
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
  const std::vector<Tensor> honest = *session->run(inputs);
  std::vector<float> bent(honest[0].data<float>().begin(), honest[0].data<float>().end());
  for (std::size_t i = 0; i < kWrong; ++i) bent[i * 20] = std::nextafter(bent[i * 20], 9.0f);
  const std::vector<Tensor> fake = {Tensor::of<float>({kSide}, bent)};

  const SpotPolicy policy{.fraction = 0.05, .escape = 0.2};
  const std::uint64_t count = *samples_for(policy);  // 32
  core::CounterRng rng(5);
  constexpr int kTrials = 400;
  int escaped = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto seed = rng.next_digest();
    const auto good = spot_check(*graph, inputs, honest, {count, seed});
    ASSERT_TRUE(good) << good.error().message;
    ASSERT_FALSE(good->first);
    ASSERT_EQ(good->total(), 32U);
    ASSERT_EQ(good->work.elements, 32U);
    ASSERT_EQ(good->work.ops, 32);
    ASSERT_EQ(good->work.ops_of_all, kSide);
    const auto bad = spot_check(*graph, inputs, fake, {count, seed});
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
  const std::vector<Tensor> claimed = {Tensor::of<float>({3}, three)};
  const auto report = spot_check(*maker.finish(), inputs, claimed, {2, {}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->first);
  EXPECT_EQ(report->first->element, -1);
  EXPECT_EQ(report->first->type.text(), "float32[2]");
  EXPECT_EQ(report->total(), 0U);
  EXPECT_FALSE(spot_check(*maker.finish(), inputs, {}, {2, {}}));
}

/// The same where only a run can tell how many elements there are.
TEST(SpotChecks, SoIsAnotherNumberOfElementsThanDataMake) {
  GraphMaker maker;
  maker.output(maker.node("NonZero", {maker.input({4})}));
  const auto graph = maker.finish();
  const std::vector<float> x = {0, 1, 0, 2};
  const std::vector<Tensor> inputs = {Tensor::of<float>({4}, x)};
  const auto check = [&](const std::vector<std::int64_t>& claim) {
    const std::vector<Tensor> claimed = {
        Tensor::of<std::int64_t>({1, static_cast<std::int64_t>(claim.size())}, claim)};
    return spot_check(*graph, inputs, claimed, {9, {}});
  };
  EXPECT_EQ(check({1, 3})->total(), 2U);
  EXPECT_FALSE(check({1, 3})->first);
  EXPECT_EQ(check({1, 2})->first->element, 1);
  EXPECT_EQ(check({1, 3, 3})->first->element, -1);
  EXPECT_EQ(check({})->first->element, -1);
}

/// Elements are drawn from all outputs together, whatever their types, and those without any are
/// passed over.
TEST(SpotChecks, OfSeveralOutputs) {
  GraphMaker maker;
  const auto x = maker.input({6});
  const auto none = maker.input({0});
  kernels::Attributes to_int;
  to_int.set("to", std::int64_t{6});  // int32
  maker.output(maker.node("Relu", {none}));
  maker.output(maker.node("Greater", {x, maker.floats({1}, 0)}));
  maker.output(maker.node("Cast", {x}, to_int));
  maker.output(maker.node("Neg", {x}));
  const auto graph = maker.finish();
  const std::vector<float> values = {-3, -2, -1, 1, 2, 3};
  const std::vector<Tensor> inputs = {Tensor::of<float>({6}, values),
                                      Tensor::of<float>({0}, std::vector<float>())};
  auto session = graph::Session::create(graph, {});
  const std::vector<Tensor> honest = *session->run(inputs);
  EXPECT_EQ(honest[1].dtype(), tensor::DType::kBool);

  core::CounterRng rng(6);
  std::vector<std::uint64_t> found(4);
  for (int trial = 0; trial < 300; ++trial) {
    const auto good = spot_check(*graph, inputs, honest, {3, rng.next_digest()});
    ASSERT_TRUE(good) << good.error().message;
    ASSERT_FALSE(good->first);
    ASSERT_EQ(good->total(), 3U);
    ASSERT_EQ(good->elements, 18U);
    for (std::size_t o = 0; o < 4; ++o) found[o] += good->checked[o];
  }
  EXPECT_EQ(found[0], 0U);
  for (std::size_t o = 1; o < 4; ++o) EXPECT_NEAR(static_cast<double>(found[o]), 300, 60) << o;

  for (std::size_t o = 1; o < 4; ++o) {
    for (const std::int64_t at : {0, 5}) {
      std::vector<Tensor> bent = honest;
      core::Bytes bytes(honest[o].bytes().begin(), honest[o].bytes().end());
      bytes[static_cast<std::size_t>(at) * bytes.size() / 6] ^= 1;
      bent[o] = Tensor::copy_of(honest[o].type(), bytes);
      const auto bad = spot_check(*graph, inputs, bent, {18, {}});
      ASSERT_TRUE(bad && bad->first) << o;
      EXPECT_EQ(bad->first->output, o);
      EXPECT_EQ(bad->first->element, at);
      EXPECT_EQ(bad->first->claimed ^ bad->first->computed, 1U);
    }
  }
  const std::vector<Tensor> nothing = {honest[0], honest[0], honest[0], honest[0]};
  EXPECT_EQ(spot_check(*graph, inputs, nothing, {18, {}})->first->output, 1U);
}

}  // namespace
}  // namespace commensal::spot
