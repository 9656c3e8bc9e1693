// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <apps/common/outputs.hpp>
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

TEST(Summary, SharesAreThoseOfTheSoftmax) {
  const auto top = top_values(Tensor::of<float>({3}, std::vector<float>{1000, 1001, 999}), 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_NEAR(top[0].share, 0.66524, 1e-5);
  EXPECT_NEAR(top[1].share, 0.24473, 1e-5);
  EXPECT_NEAR(top[2].share, 0.09003, 1e-5);
}

TEST(Outputs, JsonHasEveryValueInTheProtocolsSpelling) {
  const tensor::NamedTensors outputs = {
      {"y", Tensor::of<float>({1, 9}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9})},
      {"words", Tensor::of_strings({1}, {"a"})}};
  Reading reading{.top = 1, .softmax = true, .labels_file = "", .labels = {}};
  for (int i = 0; i < 9; ++i) reading.labels.push_back(fmt::format("digit {}", i));
  const auto json = outputs_json(outputs, reading);
  EXPECT_EQ(json["y"]["datatype"], "FP32");
  EXPECT_EQ(json["y"]["shape"], (std::vector<int>{1, 9}));
  EXPECT_EQ(json["y"]["data"].size(), 9u);
  EXPECT_EQ(json["y"]["data"][8], 9);
  EXPECT_EQ(json["y"]["top"][0]["label"], "digit 8");
  EXPECT_GT(json["y"]["top"][0]["share"], 0.6);
  EXPECT_EQ(json["y"]["sha256"], hash_of(outputs[0].value));
  EXPECT_EQ(json["words"]["datatype"], "BYTES");
  EXPECT_EQ(json["words"]["data"][0], "a");
  EXPECT_THAT(json["words"]["top"], IsEmpty());
}

TEST(Outputs, LabelsMustFit) {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string file =
      ::testing::TempDir() + fmt::format("commensal_{}_{}", info->name(), ::getpid());
  ASSERT_TRUE(core::write_file_atomically(file, core::as_bytes("one\r\ntwo\n")));
  const Tensor two = Tensor::of<float>({2}, std::vector<float>(2));
  const Tensor three = Tensor::of<float>({3}, std::vector<float>(3));
  Reading fits{.top = 5, .softmax = false, .labels_file = file, .labels = {}};
  ASSERT_TRUE(read_labels(fits));
  EXPECT_TRUE(fit_labels(fits, {{"x", three}, {"y", two}}));
  EXPECT_THAT(fits.labels, ElementsAre("one", "two"));
  Reading other{.top = 5, .softmax = false, .labels_file = file, .labels = {}};
  ASSERT_TRUE(read_labels(other));
  const auto refused = fit_labels(other, {{"y", three}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("has 2 labels, which fits no output"));
  std::filesystem::remove(file);
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
