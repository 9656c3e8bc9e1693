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
  // Where one string ends is part of the hash.
  EXPECT_NE(hash_of(Tensor::of_strings({2}, {"ab", "c"})),
            hash_of(Tensor::of_strings({2}, {"a", "bc"})));
}

TEST(Summary, RanksGreatestFirst) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scores = Tensor::of<float>({1, 5}, std::vector<float>{0.5f, kNan, 2, -1, 2});
  const auto top = top_values(scores, 0, 5, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].index, 2);
  EXPECT_EQ(top[1].index, 4);
  EXPECT_EQ(top[2].value, "0.5");
}

TEST(Summary, SharesAreThoseOfTheSoftmax) {
  const auto top = top_values(Tensor::of<float>({3}, std::vector<float>{1000, 1001, 999}), 0, 3, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_NEAR(top[0].share, 0.66524, 1e-5);
  EXPECT_NEAR(top[1].share, 0.24473, 1e-5);
  EXPECT_NEAR(top[2].share, 0.09003, 1e-5);
}

TEST(Outputs, JsonHasEveryValueInTheProtocolsSpelling) {
  const tensor::NamedTensors outputs = {
      {"y", Tensor::of<float>({1, 9}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9})},
      {"words", Tensor::of_strings({1}, {"a"})}};
  Reading reading;
  reading.top = 1;
  reading.softmax = true;
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

/// The text of one output.
std::string said_of(const Tensor& output, const Reading& reading) {
  ::testing::internal::CaptureStdout();
  print_outputs({{"y", output}}, reading);
  return ::testing::internal::GetCapturedStdout();
}

// The fault: shares were over all elements, and labels of none.
TEST(Outputs, ScoresAreReadRowByRow) {
  const Tensor two = Tensor::of<float>({2, 3}, std::vector<float>{0, 1, 3, 5, 4, 1});
  Reading reading;
  reading.top = 2;
  reading.card = {.output = "y", .top = {}, .softmax = true, .labels = {"a", "b", "c"}};
  const auto json = outputs_json({{"y", two}, {"z", two}}, reading);
  const auto& top = json["y"]["top"];
  ASSERT_EQ(top.size(), 4u);
  EXPECT_EQ(top[0]["row"], 0);
  EXPECT_EQ(top[0]["index"], 2);
  EXPECT_EQ(top[0]["label"], "c");
  EXPECT_NEAR(top[0]["share"].get<double>(), 0.84380, 1e-5);
  EXPECT_EQ(top[2]["row"], 1);
  EXPECT_EQ(top[2]["index"], 0);
  EXPECT_EQ(top[2]["label"], "a");
  EXPECT_NEAR(top[2]["share"].get<double>(), 0.72140, 1e-5);
  EXPECT_THAT(json["z"]["top"], IsEmpty()) << "nothing is said of it, and it is no vector";
  const std::string text = said_of(two, reading);
  EXPECT_THAT(text, ::testing::HasSubstr("  top     [0][2] 3  84.38 %  c\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("  top     [1][0] 5  72.14 %  a\n"));
}

TEST(Outputs, DimensionsOfOneAreNoRowsAndManyRowsAreCutShort) {
  Reading reading;
  reading.labels = {"a", "b"};
  for (const tensor::Shape& shape : std::vector<tensor::Shape>{{2}, {1, 2}, {1, 2, 1, 1}}) {
    const auto top =
        outputs_json({{"y", Tensor::of<float>(shape, std::vector<float>{0, 1})}}, reading)["y"];
    EXPECT_EQ(top["top"][0]["label"], "b") << shape.text();
    EXPECT_FALSE(top["top"][0].contains("row")) << shape.text();
  }
  const Tensor many = Tensor::of<float>({11, 2}, std::vector<float>(22));
  EXPECT_THAT(said_of(many, reading), ::testing::HasSubstr("  ...     3 more rows"));
  EXPECT_EQ(outputs_json({{"y", many}}, reading)["y"]["top"].size(), 22u);
  reading.labels = {"only"};
  EXPECT_THAT(said_of(Tensor::of<float>({1, 1}, std::vector<float>{7}), reading),
              ::testing::HasSubstr("[0] 7  only"));
  for (const Tensor& none :
       {Tensor::of<float>({}, std::vector<float>(1)),
        Tensor::of<float>({2, 0}, std::vector<float>()), Tensor::of_strings({2}, {"a", "b"})})
    EXPECT_THAT(outputs_json({{"y", none}}, reading)["y"]["top"], IsEmpty());
}

TEST(Outputs, LabelsMustFit) {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string file =
      ::testing::TempDir() + fmt::format("commensal_{}_{}", info->name(), ::getpid());
  ASSERT_TRUE(core::write_file_atomically(file, core::as_bytes("one\r\ntwo\n")));
  const Tensor two = Tensor::of<float>({2}, std::vector<float>(2));
  const Tensor three = Tensor::of<float>({3}, std::vector<float>(3));
  Reading fits;
  fits.labels_file = file;
  ASSERT_TRUE(read_labels(fits));
  EXPECT_TRUE(fit_labels(fits, {{"x", three}, {"y", two}}));
  EXPECT_THAT(fits.labels, ElementsAre("one", "two"));
  Reading other;
  other.labels_file = file;
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
