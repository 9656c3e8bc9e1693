// SPDX-License-Identifier: Apache-2.0
// What of a model is trained: names, patterns, and low-rank adapters in the place of weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/train/testing/small_training.hpp>
#include <commensal/compute/train/weights.hpp>

namespace commensal::train {
namespace {

using testing::digest_after;
using ::testing::HasSubstr;
using testing::refusal;
using testing::run;
using testing::SmallTraining;
using testing::trainer_of;

constexpr const char* kAdapters =
    "optimiser: {kind: adamw, rate: 0.02}\n"
    "adapters: {rank: 2, weights: [\"*.w\"], scale: 1.5}\n";

TEST(TrainingWeights, PatternsFitNames) {
  EXPECT_TRUE(fits("*", ""));
  EXPECT_TRUE(fits("*.w", "conv.w"));
  EXPECT_TRUE(fits("a*b*c", "aXbXbXc"));
  EXPECT_TRUE(fits("a**", "a"));
  EXPECT_FALSE(fits("a*b", "aXbX"));
  EXPECT_FALSE(fits("*.w", "conv.w2"));
  EXPECT_FALSE(fits("", "a"));
}

TEST(TrainingWeights, AreChosenByPattern) {
  const auto names = [](const std::string& weights) {
    const SmallTraining training("weights: [" + weights + "]\n");
    auto trainer = trainer_of(training);
    if (!trainer) return trainer.error().message;
    std::string all;
    for (std::size_t i = 0; i < trainer->weights(); ++i) all += trainer->state()[i].name + " ";
    return all;
  };
  EXPECT_EQ(names("\"fc.*\""), "fc.w fc.b ");
  EXPECT_EQ(names("fc.b, \"*.w\""), "fc.b conv.w fc.w ");
  EXPECT_EQ(names("\"bn.*\""), "bn.scale bn.bias ");  // not the statistics
  EXPECT_THAT(names("\"x*\""), HasSubstr("'x*' fits none of the model's 6 weights"));
}

TEST(EqualityTrainingAdapters, AreTheSameEverywhereAndResumed) {
  const std::string expected =
      digest_after(SmallTraining(kAdapters), 12, {.backend = graph::Backend::kRef});
  ASSERT_EQ(expected.size(), 64U);
  EXPECT_EQ(digest_after(SmallTraining(kAdapters), 12, {.threads = 2}), expected);
  const SmallTraining parts(std::string(kAdapters) + "checkpoint: {file: at.ckpt, every: 5}\n");
  digest_after(parts, 7);
  auto resumed = trainer_of(parts);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->done(), 5);
  EXPECT_EQ(run(*resumed, 7), "");
  EXPECT_EQ(core::to_hex(resumed->weights_digest()), expected);
}

/// The scores of a model's file for the pictures.
std::vector<float> scores_of(core::ByteView file) {
  const auto model = graph::onnx::import_bytes(file, nullptr);
  EXPECT_TRUE(model) << model.error().message;
  auto session = graph::Session::create(*model, {});
  const auto made = session->run(std::vector{testing::pictures(40).x});
  EXPECT_TRUE(made) << made.error().message;
  const auto scores = made->front().data<float>();
  return {scores.begin(), scores.end()};
}

TEST(TrainingAdapters, LearnAndAreExportedMergedOrKept) {
  const SmallTraining merge(kAdapters);
  auto trainer = trainer_of(merge);
  ASSERT_TRUE(trainer) << trainer.error().message;
  ASSERT_EQ(trainer->weights(), 4U);
  EXPECT_EQ(trainer->state()[0].name, "conv.w.adapter.a");
  EXPECT_EQ(trainer->state()[0].value.type().text(), "float32[2,9]");
  EXPECT_EQ(trainer->state()[1].value.type().text(), "float32[6,2]");
  const auto before = trainer->exported();
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(scores_of(*before), scores_of(testing::small_model())) << "B is 0";
  ASSERT_EQ(run(*trainer, 60), "");
  EXPECT_LT(trainer->losses().back(), trainer->losses().front() / 2);
  const auto merged = trainer->exported();
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_NE(scores_of(*merged), scores_of(*before));

  const SmallTraining keep(
      "optimiser: {kind: adamw, rate: 0.02}\n"
      "adapters: {rank: 2, weights: [\"*.w\"], scale: 1.5, export: keep}\n");
  auto other = trainer_of(keep);
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_EQ(run(*other, 60), "");
  EXPECT_EQ(other->weights_digest(), trainer->weights_digest());
  const auto kept = other->exported();
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(scores_of(*kept), scores_of(*merged)) << "the same operations";
  const auto model = graph::onnx::import_bytes(*kept, nullptr);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_NE(initialiser_of(**model, "fc.w.adapter.b"), nullptr);
  const auto own = graph::onnx::import_bytes(testing::small_model(), nullptr);
  EXPECT_TRUE(std::ranges::equal(initialiser_of(**model, "fc.w")->bytes(),
                                 initialiser_of(**own, "fc.w")->bytes()));
}

TEST(TrainingAdapters, BesideThemOtherWeightsAreTrained) {
  const SmallTraining training(std::string(kAdapters) + "weights: [fc.b]\n");
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  EXPECT_EQ(trainer->weights(), 5U);
  EXPECT_EQ(trainer->state()[0].name, "fc.b");
  ASSERT_EQ(run(*trainer, 2), "");
  EXPECT_TRUE(trainer->exported());
}

TEST(TrainingAdapters, ThatCannotBeAreRefused) {
  const auto message = [](const std::string& adapters) {
    return refusal(SmallTraining("adapters: " + adapters + "\n"));
  };
  EXPECT_EQ(message("{rank: 2}"), "accepted");
  EXPECT_EQ(message("{rank: 4}"),
            "'adapters.rank' is 4, expected less than 4, the rank that 'fc.w' may have");
  EXPECT_THAT(message("{rank: 0}"), HasSubstr("'adapters.rank' is '0'"));
  EXPECT_THAT(message("{rank: 1, weights: [fc.b]}"), HasSubstr("of two dimensions or more"));
  EXPECT_THAT(message("{rank: 1, weights: [none]}"), HasSubstr("no weight 'none'"));
  EXPECT_THAT(message("{rank: 1, export: perhaps}"), HasSubstr("expected one of merge, keep"));
}

}  // namespace
}  // namespace commensal::train
