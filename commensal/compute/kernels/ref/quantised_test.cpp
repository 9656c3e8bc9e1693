// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/kernels/testing/samples.hpp>
#include <limits>

namespace commensal::kernels {
namespace {

using namespace testing;
using tensor::Shape;
using u8 = std::uint8_t;
using List = std::vector<std::int64_t>;

template <class T>
Tensor of(const Shape& shape, std::vector<T> values) {
  return Tensor::of<T>(shape, values);
}
template <class T>
std::vector<T> values(const Tensor& tensor) {
  return {tensor.data<T>().begin(), tensor.data<T>().end()};
}
std::vector<Tensor> run(const Sample& sample) {
  SampleCall made(sample);
  const auto inferred = made.infer();
  EXPECT_TRUE(inferred.has_value());
  return made.run_ref();
}

TEST(Quantised, RoundsHalvesToEvenAndSaturates) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto y = run({"QuantizeLinear",
                      13,
                      {of<float>({8}, {0.5f, 1.5f, -0.5f, -1.5f, 300, -300, nan, inf}),
                       of<float>({}, {1}), of<u8>({}, {128})}});
  EXPECT_EQ(values<u8>(y[0]), (std::vector<u8>{128, 130, 128, 126, 255, 0, 128, 255}));
}

TEST(Quantised, DequantizesTheExactDifference) {
  const auto y = run({"DequantizeLinear",
                      13,
                      {of<u8>({3}, {0, 128, 255}), of<float>({}, {0.5f}), of<u8>({}, {128})}});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{-64, 0, 63.5f}));
}

TEST(Quantised, DynamicScaleSpansTheRangeAndZero) {
  const auto y = run({"DynamicQuantizeLinear", 11, {of<float>({3}, {-1, 0, 2})}, {}, 3});
  EXPECT_EQ(values<u8>(y[0]), (std::vector<u8>{0, 85, 255}));
  EXPECT_EQ(values<float>(y[1]), std::vector<float>{3.0f / 255});
  EXPECT_EQ(values<u8>(y[2]), std::vector<u8>{85});
}

TEST(Quantised, ProductsSubtractZeroPointsFirst) {
  const auto y = run({"MatMulInteger",
                      10,
                      {of<u8>({1, 3}, {11, 7, 3}), of<u8>({3, 2}, {1, 4, 2, 5, 3, 6}),
                       of<u8>({}, {12}), of<u8>({}, {0})}});
  EXPECT_EQ(values<std::int32_t>(y[0]), (std::vector<std::int32_t>{-38, -83}));
}

TEST(Quantised, PaddingIsNoStep) {
  Attributes pads;
  pads.set("pads", List{1, 1, 0, 0});
  const auto y = run(
      {"ConvInteger",
       10,
       {of<u8>({1, 1, 2, 2}, {2, 3, 4, 5}), of<u8>({1, 1, 2, 2}, {1, 1, 1, 1}), of<u8>({}, {1})},
       pads});
  EXPECT_EQ(values<std::int32_t>(y[0]), (std::vector<std::int32_t>{1, 3, 4, 10}));
}

TEST(Quantised, RequantisesWithTheBiasInTheAccumulator) {
  const auto y = run({"QLinearConv",
                      10,
                      {of<u8>({1, 1, 2}, {10, 20}), of<float>({}, {0.5f}), of<u8>({}, {10}),
                       of<u8>({1, 1, 1}, {3}), of<float>({}, {0.5f}), of<u8>({}, {1}),
                       of<float>({}, {2}), of<u8>({}, {100}), of<std::int32_t>({1}, {12})}});
  // (0 * 2 + 12) / 8 = 1.5 and (10 * 2 + 12) / 8 = 4.
  EXPECT_EQ(values<u8>(y[0]), (std::vector<u8>{102, 104}));
}

TEST(Quantised, RefusesScalesThatDoNotFit) {
  SampleCall made(
      {"QuantizeLinear",
       13,
       {of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), of<float>({2}, {1, 1}), of<u8>({2}, {0, 0})}});
  const auto inferred = made.infer();
  ASSERT_FALSE(inferred);
  EXPECT_EQ(inferred.error().message, "scale [2] does not fit input [2,3]: expected [3]");
}

}  // namespace
}  // namespace commensal::kernels
