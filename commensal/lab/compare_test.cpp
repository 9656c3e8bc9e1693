// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/lab/compare.hpp>
#include <limits>

namespace commensal::lab {
namespace {

using tensor::Tensor;

Tensor floats(std::vector<float> values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

TEST(Compare, FollowsTheTolerance) {
  EXPECT_TRUE(compare(floats({1000.9f}), floats({1000})));
  EXPECT_FALSE(compare(floats({1001.1f}), floats({1000})));
  EXPECT_TRUE(compare(floats({0.5e-7f}), floats({0})));
  EXPECT_FALSE(compare(floats({2e-7f}), floats({0})));
}

TEST(Compare, KnowsSpecialNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare(floats({kNan, kInfinity, -0.0f}), floats({kNan, kInfinity, 0.0f})));
  EXPECT_FALSE(compare(floats({kNan}), floats({1})));
  EXPECT_FALSE(compare(floats({1}), floats({kNan})));
  EXPECT_FALSE(compare(floats({kInfinity}), floats({-kInfinity})));
  EXPECT_FALSE(compare(floats({3e38f}), floats({kInfinity})));
}

TEST(Compare, IsExactOnIntegersAndTypes) {
  const auto integers = [](std::int64_t value) {
    return Tensor::of<std::int64_t>({1}, std::vector{value});
  };
  EXPECT_TRUE(compare(integers(1'000'000), integers(1'000'000)));
  EXPECT_FALSE(compare(integers(1'000'001), integers(1'000'000)));
  const auto other = compare(floats({1, 2}), floats({1}));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "got float32[2], expected float32[1]");
}

TEST(Compare, SaysWhereItDiffers) {
  const auto differs = compare(floats({1, 2, 3, 4}), floats({1, 5, 3, 6}));
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().message, "2 of 4 elements differ, first [1]: got 2, expected 5");
}

}  // namespace
}  // namespace commensal::lab
