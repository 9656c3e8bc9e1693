// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/serve/oip/classification.hpp>
#include <limits>

namespace commensal::oip {
namespace {

using tensor::Tensor;
using Texts = std::vector<std::string>;

Texts texts(const core::Result<Tensor>& made) {
  if (!made) return {made.error().message};
  return {made->strings().begin(), made->strings().end()};
}

TEST(Classification, NamesTheLargestFirst) {
  const auto output = Tensor::of<float>({4}, std::vector<float>{0.25f, 4, -1, 4});
  const auto made = classify(output, 3, false);
  EXPECT_EQ(texts(made), (Texts{"4.000000:1", "4.000000:3", "0.250000:0"}));
  EXPECT_EQ(made->shape(), (tensor::Shape{3}));
  EXPECT_EQ(texts(classify(output, 9, false)).size(), 4u);
}

TEST(Classification, TakesRowsApart) {
  const auto output =
      Tensor::of<std::int32_t>({2, 1, 3}, std::vector<std::int32_t>{1, 3, 2, 9, 8, 7});
  const auto made = classify(output, 2, true);
  EXPECT_EQ(texts(made), (Texts{"3:1", "2:2", "9:0", "8:1"}));
  EXPECT_EQ(made->shape(), (tensor::Shape{2, 2}));
  EXPECT_EQ(texts(classify(output, 2, false)), (Texts{"9:3", "8:4"}));
}

TEST(Classification, IsBounded) {
  const std::vector<std::uint8_t> bytes(1 << 20);
  const auto output = Tensor::of<std::uint8_t>({1024, 1024}, bytes);
  EXPECT_EQ(texts(classify(output, kClassTextsMax + 1, false)),
            Texts{"classification is 65537: expected 1 to 65536"});
  EXPECT_EQ(texts(classify(output, 65, true)),
            Texts{"65 classes of 1024 rows: at most 65536 texts"});
  EXPECT_EQ(texts(classify(output, 64, true)).size(), 65'536u);
}

TEST(Classification, AddsLabelsWhereThereAreSome) {
  const auto output = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{-5, -4});
  const auto label = [](std::int64_t index) { return index == 0 ? "cat: tabby" : ""; };
  EXPECT_EQ(texts(classify(output, 2, false, label)), (Texts{"-4:1", "-5:0:cat: tabby"}));
}

TEST(Classification, PutsWhatIsNoNumberLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto output = Tensor::of<float>({4}, std::vector<float>{nan, -inf, nan, inf});
  EXPECT_EQ(texts(classify(output, 4, false)), (Texts{"inf:3", "-inf:1", "nan:0", "nan:2"}));
}

TEST(Classification, ReadsHalves) {
  const std::vector<tensor::Float16> values = {tensor::to_float16(1), tensor::to_float16(1.5f)};
  EXPECT_EQ(texts(classify(Tensor::of<tensor::Float16>({2}, values), 1, false)),
            Texts{"1.500000:1"});
}

TEST(Classification, IsEmptyOfNothing) {
  const auto none = classify(Tensor::of<float>({0, 3}, {}), 2, true);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->shape(), (tensor::Shape{0, 0}));
  EXPECT_EQ(texts(classify(Tensor::of<float>({}, std::vector<float>{7}), 2, true)),
            Texts{"7.000000:0"});
}

TEST(Classification, SaysWhatItCannotDo) {
  const auto output = Tensor::of<float>({1}, std::vector<float>{7});
  EXPECT_EQ(texts(classify(output, 0, false)), Texts{"classification is 0: expected 1 to 65536"});
  EXPECT_EQ(texts(classify(Tensor::of_strings({1}, {"a"}), 1, false)),
            Texts{"string has no classes: expected numbers"});
  constexpr std::array<bool, 1> kTrue = {true};
  EXPECT_FALSE(classify(Tensor::of<bool>({1}, kTrue), 1, false));
}

}  // namespace
}  // namespace commensal::oip
