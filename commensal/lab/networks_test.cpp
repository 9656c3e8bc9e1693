// SPDX-License-Identifier: Apache-2.0
// Real networks on real pictures: what they should see is known from looking at them.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/io/npy.hpp>
#include <commensal/lab/conformance.hpp>
#include <commensal/lab/testing/network_fixture.hpp>

namespace commensal::lab {
namespace {

using testing::folder_from;
using testing::Tensor;

class ConformanceNetworks : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = folder_from("COMMENSAL_DATA");
    if (!folder) GTEST_SKIP() << "COMMENSAL_DATA names no folder of test data";
    data_ = *folder;
  }
  core::Path data_;
};

/// Corners as fractions of the picture's width and height.
struct Box {
  float left, top, right, bottom, score;

  float area() const { return (right - left) * (bottom - top); }
  bool covers(float x, float y) const { return left <= x && x <= right && top <= y && y <= bottom; }
};

float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (a.area() + b.area() - width * height);
}

// Boxes that score above 0.7; of those that overlap by half, the best.
std::vector<Box> faces_of(const Tensor& scores, const Tensor& boxes) {
  const auto score = scores.data<float>();
  const auto corner = boxes.data<float>();
  std::vector<Box> candidates;
  for (std::size_t i = 0; i < score.size() / 2; ++i) {
    if (score[2 * i + 1] <= 0.7f) continue;
    candidates.push_back(
        {corner[4 * i], corner[4 * i + 1], corner[4 * i + 2], corner[4 * i + 3], score[2 * i + 1]});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> faces;
  for (const Box& box : candidates) {
    if (std::none_of(faces.begin(), faces.end(),
                     [&](const Box& face) { return overlap(face, box) > 0.5f; })) {
      faces.push_back(box);
    }
  }
  return faces;
}

TEST_F(ConformanceNetworks, UltraFaceFindsTheFaces) {
  const core::Path folder = data_ / "ultraface";
  for (const char* model : {"version-RFB-320", "version-slim-320", "version-RFB-640"}) {
    SCOPED_TRACE(model);
    const auto graph = testing::load(folder / fmt::format("{}.onnx", model));
    ASSERT_NE(graph, nullptr);
    const auto faces_in = [&](const char* name) {
      const auto outputs = testing::run(graph, testing::picture(*graph, folder / name, 127, 128));
      return outputs.size() == 2 ? faces_of(outputs[0], outputs[1]) : std::vector<Box>();
    };
    EXPECT_GE(faces_in("1.jpg").size(), 40u) << "a parade";
    EXPECT_GE(faces_in("8.jpg").size(), 40u) << "a hall";
    EXPECT_EQ(faces_in("bald_eagle.jpeg").size(), 0u);

    const auto couple = faces_in("22.jpg");
    ASSERT_EQ(couple.size(), 2u);
    EXPECT_TRUE(couple[0].covers(0.75f, 0.59f) || couple[1].covers(0.75f, 0.59f));
    EXPECT_TRUE(couple[0].covers(0.39f, 0.32f) || couple[1].covers(0.39f, 0.32f));

    // Nine people in two rows: the tips of their noses.
    const auto group = faces_in("16.jpg");
    EXPECT_EQ(group.size(), 9u);
    const float noses[][2] = {{0.176f, 0.13f}, {0.346f, 0.13f}, {0.501f, 0.12f},
                              {0.675f, 0.22f}, {0.847f, 0.21f}, {0.234f, 0.45f},
                              {0.436f, 0.41f}, {0.615f, 0.47f}, {0.826f, 0.46f}};
    for (const auto& nose : noses) {
      EXPECT_EQ(std::count_if(group.begin(), group.end(),
                              [&](const Box& face) { return face.covers(nose[0], nose[1]); }),
                1)
          << nose[0] << ' ' << nose[1];
    }
  }
}

TEST_F(ConformanceNetworks, MnistReadsItsDigits) {
  const core::Path folder = data_ / "mnist";
  const auto graph = testing::load(folder / "opt-mnist.onnx");
  ASSERT_NE(graph, nullptr);
  for (const int digit : {0, 3, 5, 7}) {
    const core::Path path = folder / fmt::format("{}.jpg", digit);
    const auto outputs = testing::run(graph, testing::picture(*graph, path, 0, 255));
    ASSERT_EQ(outputs.size(), 1u);
    const auto scores = outputs[0].data<float>();
    EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), digit);
  }
}

TEST_F(ConformanceNetworks, LightModelsGiveTheExpectedOutputs) {
  const auto report = run_conformance(data_ / "onnx-backend-1.19" / "light", {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->total, 9);
  for (const ConformanceCase& one : report->cases) {
    EXPECT_EQ(name_of(one.outcome), "passed") << one.name << ": " << one.detail;
  }
}

TEST(ConformanceDigits, TheDigitNetworkReadsPicturesItNeverSaw) {
  const auto graph = testing::load(testing::source("models/digits/digits.onnx"));
  ASSERT_NE(graph, nullptr);
  const auto images = io::read_npy_file(testing::source("models/digits/held_out_images.npy"));
  const auto labels = io::read_npy_file(testing::source("models/digits/held_out_labels.npy"));
  ASSERT_TRUE(images && labels);
  const auto outputs = testing::run(graph, *images);
  ASSERT_EQ(outputs.size(), 1u);
  const auto scores = outputs[0].data<float>();
  const auto digits = labels->data<std::int64_t>();
  int right = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto row = scores.subspan(10 * i, 10);
    right += std::max_element(row.begin(), row.end()) - row.begin() == digits[i];
  }
  EXPECT_GE(right, 388) << "97 % of 400";
}

}  // namespace
}  // namespace commensal::lab
