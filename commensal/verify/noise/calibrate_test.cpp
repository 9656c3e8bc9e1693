// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/verify/noise/answers.hpp>
#include <commensal/verify/noise/calibrate.hpp>

namespace commensal::noise {
namespace {

using graph::testing::GraphMaker;
using tensor::Tensor;

void ignore(std::size_t, std::size_t) {}

/// Four numbers, one of them the largest, which a layer passes on with a bias.
Samples samples() {
  Samples made;
  for (std::int64_t i = 0; i < 4; ++i) {
    std::vector<float> values = {0.5f, 0.25f, 0.125f, 0.75f};
    values[static_cast<std::size_t>(i)] = 1.0f;
    made.inputs.push_back({Tensor::of<float>({1, 4}, values)});
    made.labels.push_back(i);
  }
  return made;
}

core::Result<Calibration> calibrated(const GraphMaker& maker, const Samples& samples) {
  auto session = NoisySession::create(maker.finish(), {});
  EXPECT_TRUE(session);
  CalibrationOptions options;
  options.exponents = ladder();
  return calibrate(*session, samples, options, ignore);
}

TEST(Calibrate, TakesTheMiddleOfWhatWorks) {
  GraphMaker maker;
  maker.output(maker.node("Add", {maker.input({1, 4}), maker.floats({4}, 0.1f)}));
  const auto made = calibrated(maker, samples());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->plain_accuracy, 1);
  ASSERT_EQ(made->rungs.size(), 19u);
  // Noise of 2^0 overturns answers; of 2^-36 it vanishes beside 1; in between it does neither.
  EXPECT_TRUE(made->rungs.front().is_felt);
  EXPECT_FALSE(made->rungs.front().is_borne);
  EXPECT_LT(made->rungs.front().accuracy, 1);
  EXPECT_FALSE(made->rungs.back().is_felt);
  EXPECT_EQ(made->rungs.back().answers_repeated[3], 1);
  EXPECT_TRUE(made->rungs.back().is_borne);
  ASSERT_TRUE(made->exponent);
  EXPECT_GE(*made->exponent, 6);
  EXPECT_LE(*made->exponent, 18);
}

TEST(Calibrate, RefusesWhereARoundingSwallowsTheNoise) {
  GraphMaker maker;
  maker.output(maker.node("Round", {maker.input({1, 4})}));
  const auto made = calibrated(maker, samples());
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->exponent);
  EXPECT_TRUE(made->why.starts_with("no scale works")) << made->why;
}

TEST(Calibrate, RefusesWhatItCannotMeasure) {
  GraphMaker maker;
  maker.output(maker.node("Identity", {maker.input({1, 4})}));
  EXPECT_EQ(calibrated(maker, {}).error().message, "no samples, expected one or more");
  Samples few = samples();
  few.labels.pop_back();
  EXPECT_EQ(calibrated(maker, few).error().message, "3 labels, expected one for each of 4 samples");
}

TEST(Answers, CompareBitsAndPlaces) {
  const std::vector<float> ones = {1, 1}, others = {1, -1};
  const Tensors a = {Tensor::of<float>({1, 2}, ones)}, b = {Tensor::of<float>({1, 2}, others)};
  EXPECT_EQ(share_of_bits_changed(a, a), 0);
  EXPECT_EQ(share_of_bits_changed(a, b), 1.0 / 64);
  EXPECT_NE(hash_of(a), hash_of(b));
  const std::vector<float> rows = {1, 3, 3, 0, 5, -1};
  EXPECT_EQ(largest_places(Tensor::of<float>({2, 3}, rows)), (std::vector<std::int64_t>{1, 1}));
}

TEST(Answers, FakesAreFilledFromTheSamples) {
  const std::vector<float> first = {1, 2}, second = {3, -6};
  const std::vector<std::int64_t> numbers = {5, 7};
  const std::vector<Tensors> given = {
      {Tensor::of<float>({2}, first), Tensor::of<std::int64_t>({2}, numbers)},
      {Tensor::of<float>({2}, second), Tensor::of<std::int64_t>({2}, numbers)}};
  EXPECT_EQ(filled_with_mean(given)[0].data<float>()[1], 0.0f);
  EXPECT_EQ(filled_with_mean(given)[1].data<std::int64_t>()[1], 5);
  EXPECT_EQ(filled_with_largest(given)[0].data<float>()[0], 3.0f);
  EXPECT_EQ(filled_with_largest(given)[1].data<std::int64_t>()[0], 7);
  EXPECT_EQ(filled_with_zero(given)[0].data<float>()[1], 0.0f);
}

}  // namespace
}  // namespace commensal::noise
