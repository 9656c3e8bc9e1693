// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/common/summary.hpp>
#include <limits>

namespace commensal::apps {
namespace {

using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Summary, HashesTheBytes) {
  const Tensor abc = Tensor::of<std::uint8_t>({3}, std::vector<std::uint8_t>{'a', 'b', 'c'});
  // FIPS 180-4, the example "abc".
  EXPECT_EQ(hash_of(abc), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Summary, TakesStrings) {
  const Tensor words = Tensor::of_strings({2}, {"a\"b", "\x1b[m"});
  EXPECT_THAT(first_values(words, 8), ElementsAre("\"a\\\"b\"", "\"\\x1b[m\""));
  EXPECT_THAT(top_values(words, 3), IsEmpty());
  // Where one string ends is part of the hash.
  EXPECT_NE(hash_of(Tensor::of_strings({2}, {"ab", "c"})),
            hash_of(Tensor::of_strings({2}, {"a", "bc"})));
}

TEST(Summary, RanksVectorsGreatestFirst) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scores = Tensor::of<float>({1, 5}, std::vector<float>{0.5f, kNan, 2, -1, 2});
  const auto top = top_values(scores, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].index, 2);
  EXPECT_EQ(top[1].index, 4);
  EXPECT_EQ(top[2].value, "0.5");
  EXPECT_THAT(top_values(Tensor::of<float>({2, 2}, std::vector<float>(4)), 3), IsEmpty());
  EXPECT_THAT(top_values(Tensor::of<float>({}, std::vector<float>(1)), 3), IsEmpty());
}

TEST(Summary, PrintsElementsAsNumbers) {
  EXPECT_THAT(first_values(Tensor::of<std::int8_t>({2}, std::vector<std::int8_t>{-65, 66}), 8),
              ElementsAre("-65", "66"));
  EXPECT_THAT(first_values(Tensor::of<float>({3}, std::vector<float>{0.1f, 2, 3}), 2),
              ElementsAre("0.1", "2"));
  const std::vector<tensor::Float16> half = {{0x3c00}};
  EXPECT_THAT(first_values(Tensor::of<tensor::Float16>({1}, half), 1), ElementsAre("1"));
}

}  // namespace
}  // namespace commensal::apps
