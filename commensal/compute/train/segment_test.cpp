// SPDX-License-Identifier: Apache-2.0
// Segments of a training, run one after another on what the last one made, end in the bits of the
// local training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/train/segment.hpp>
#include <commensal/compute/train/testing/small_training.hpp>

namespace commensal::train {
namespace {

using tensor::Tensor;
using testing::SmallTraining;

constexpr const char* kAdamPlan =
    "steps: 40\n"
    "optimiser: {kind: adamw, rate: 0.01, decay: 0.01, clip: 1}\n"
    "schedule: {kind: cosine, warmup: 10, end: 0.1}\n";
constexpr const char* kMomentumPlan =
    "steps: 40\noptimiser: {kind: momentum, rate: 0.02, momentum: 0.9, decay: 0.001}\n";
constexpr const char* kDescentPlan = "steps: 40\noptimiser: {kind: sgd, rate: 0.05}\n";

Trainer make(const SmallTraining& training) {
  auto plan = read_plan(training.plan());
  EXPECT_TRUE(plan) << plan.error().message;
  auto made = Trainer::create(*plan, {});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(made).value();
}

graph::Session session_of(const Segment& segment, const graph::SessionOptions& options = {}) {
  const auto bytes = std::make_shared<const core::Bytes>(segment.model);
  const auto graph = graph::onnx::import_bytes(*bytes, bytes);
  EXPECT_TRUE(graph) << graph.error().message;
  auto session = graph::Session::create(*graph, options);
  EXPECT_TRUE(session) << session.error().message;
  return std::move(session).value();
}

/// What one run makes of the trainer's state.
tensor::NamedTensors run_once(graph::Session& session, const Trainer& trainer) {
  std::vector<Tensor> inputs;
  for (const auto& input : segment_inputs(trainer)) inputs.push_back(input.value);
  const auto outputs = session.run(inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  tensor::NamedTensors made;
  const graph::Graph& graph = session.graph();
  for (std::size_t i = 0; outputs && i < outputs->size(); ++i)
    made.push_back({graph.name_of(graph.outputs[i]), (*outputs)[i]});
  return made;
}

TEST(Segments, EndInTheBitsOfTheLocalTraining) {
  for (const char* const how : {kAdamPlan, kMomentumPlan, kDescentPlan}) {
    const SmallTraining training(how);
    Trainer local = make(training);
    for (int t = 0; t < 40; ++t) ASSERT_TRUE(local.step());
    for (const std::int64_t each : {1, 8, 40}) {
      Trainer remote = make(training);
      const auto segment = make_segment(remote, each);
      ASSERT_TRUE(segment) << segment.error().message;
      EXPECT_EQ(segment->state.size(), remote.state().size());
      auto session = session_of(*segment, {.threads = each == 8 ? 2 : 1});
      while (remote.done() < 40) {
        const auto taken = take_segment(remote, run_once(session, remote), remote.done() + each);
        ASSERT_TRUE(taken) << taken.error().message;
      }
      remote.confirm(40);
      EXPECT_EQ(remote.weights_digest(), local.weights_digest()) << how << each;
      EXPECT_EQ(encode(remote.checkpoint()), encode(local.checkpoint())) << how << each;
    }
  }
}

TEST(Segments, OfTheReferenceBackEndToo) {
  const SmallTraining training(kAdamPlan);
  Trainer local = make(training), remote = make(training);
  for (int t = 0; t < 4; ++t) ASSERT_TRUE(local.step());
  auto session = session_of(*make_segment(remote, 4), {.backend = graph::Backend::kRef});
  ASSERT_TRUE(take_segment(remote, run_once(session, remote), remote.done() + 4));
  EXPECT_EQ(remote.weights_digest(), local.weights_digest());
}

TEST(Segments, GoBackAsTheyGoOn) {
  const SmallTraining training(kMomentumPlan);
  Trainer trainer = make(training);
  auto session = session_of(*make_segment(trainer, 10));
  const auto first = run_once(session, trainer);
  ASSERT_TRUE(take_segment(trainer, first, 10));
  const core::Bytes then = encode(trainer.checkpoint());
  ASSERT_TRUE(take_segment(trainer, run_once(session, trainer), 20));
  EXPECT_EQ(trainer.done(), 20);
  ASSERT_TRUE(take_segment(trainer, first, 10));
  EXPECT_EQ(encode(trainer.checkpoint()), then);
}

TEST(Segments, EndInOneStateToTheBit) {
  const SmallTraining training(kMomentumPlan);
  Trainer trainer = make(training);
  auto session = session_of(*make_segment(trainer, 10));
  const auto made = run_once(session, trainer);
  EXPECT_FALSE(is_at_end_of(trainer, made));
  ASSERT_TRUE(take_segment(trainer, made, 10));
  EXPECT_TRUE(is_at_end_of(trainer, made));
  for (int t = 0; t < 10; ++t) ASSERT_TRUE(trainer.step());
  EXPECT_FALSE(is_at_end_of(trainer, made));
  Trainer local = make(training);
  for (int t = 0; t < 10; ++t) ASSERT_TRUE(local.step());
  EXPECT_TRUE(is_at_end_of(local, made)) << "made here, it is the same";
  auto other = made;
  const std::int64_t count = 9;
  other[1].value = Tensor::of<std::int64_t>({}, std::span(&count, 1));
  EXPECT_FALSE(is_at_end_of(local, other));
  other = made;
  core::Bytes bytes(made.back().value.bytes().begin(), made.back().value.bytes().end());
  bytes[0] ^= 1;
  other.back().value = Tensor::copy_of(made.back().value.type(), bytes);
  EXPECT_FALSE(is_at_end_of(local, other));
  other.pop_back();
  EXPECT_FALSE(is_at_end_of(local, other));
  EXPECT_FALSE(is_at_end_of(local, {}));
}

TEST(Segments, AreConfirmedByOthersNotByBeingTaken) {
  const SmallTraining training(std::string(kMomentumPlan) + "checkpoint: {file: kept}\n");
  Trainer trainer = make(training);
  const auto confirmed = [&] { return trainer.checkpoint().confirmed; };
  for (int t = 0; t < 10; ++t) ASSERT_TRUE(trainer.step());
  EXPECT_EQ(confirmed(), 10);  // made here
  auto session = session_of(*make_segment(trainer, 10));
  const auto second = run_once(session, trainer);
  ASSERT_TRUE(take_segment(trainer, second, 20));
  EXPECT_EQ(confirmed(), 10);
  ASSERT_TRUE(trainer.step());
  EXPECT_EQ(confirmed(), 10) << "it rests on what nobody has confirmed";
  ASSERT_TRUE(trainer.save());
  EXPECT_EQ(make(training).checkpoint().confirmed, 10);
  trainer.confirm(5);
  EXPECT_EQ(confirmed(), 10);
  trainer.confirm(1'000);
  EXPECT_EQ(confirmed(), 21);
  ASSERT_TRUE(take_segment(trainer, second, 20));
  EXPECT_EQ(confirmed(), 20);
}

TEST(Segments, WhatIsNoneOfTheirsIsRefusedAndChangesNothing) {
  const SmallTraining training(kMomentumPlan);
  Trainer trainer = make(training);
  auto session = session_of(*make_segment(trainer, 10));
  const auto right = run_once(session, trainer);
  const core::Bytes before = encode(trainer.checkpoint());
  const auto refusal = [&](const tensor::NamedTensors& outputs) {
    const auto taken = take_segment(trainer, outputs, 10);
    EXPECT_EQ(encode(trainer.checkpoint()), before);
    return taken ? std::string() : taken.error().message;
  };
  const std::string no_segment = "what came is no segment that follows this training";
  auto wrong = right;
  wrong.pop_back();
  EXPECT_EQ(refusal(wrong), no_segment);
  EXPECT_EQ(refusal({}), no_segment);
  wrong = right;
  wrong[2].name = "another";
  EXPECT_EQ(refusal(wrong), no_segment);
  wrong = right;
  for (const std::int64_t steps : {std::int64_t{5}, std::int64_t{20}, INT64_MIN, INT64_MAX}) {
    wrong[1].value = Tensor::of<std::int64_t>({}, std::span(&steps, 1));
    EXPECT_EQ(refusal(wrong), no_segment);
  }
  wrong = right;
  wrong[3].value = Tensor::of<float>({1}, std::vector<float>{1});
  EXPECT_THAT(refusal(wrong), ::testing::HasSubstr("is not of this training"));
  wrong = right;
  std::vector<float> losses(10, 1);
  losses[3] = std::numeric_limits<float>::infinity();
  wrong[0].value = Tensor::of<float>({10}, losses);
  EXPECT_THAT(refusal(wrong), ::testing::HasSubstr("the loss of step 4 is inf"));
  EXPECT_TRUE(take_segment(trainer, right, 10));
}

TEST(Segments, AreNoLongerThanWhatIsLeft) {
  const SmallTraining training(kMomentumPlan);
  Trainer trainer = make(training);
  for (const std::int64_t each : {0, -1, 41}) EXPECT_FALSE(make_segment(trainer, each)) << each;
  ASSERT_TRUE(trainer.step());
  const auto refused = make_segment(trainer, 40);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "40 steps at a time, expected at most those that are left, 39 of 40");
  EXPECT_TRUE(make_segment(trainer, 13));
}

TEST(Segments, MayLeaveAShorterOneBehind) {
  const SmallTraining training(kAdamPlan);
  Trainer local = make(training), remote = make(training);
  for (int t = 0; t < 40; ++t) ASSERT_TRUE(local.step());
  for (const std::int64_t each : {std::int64_t{13}, std::int64_t{1}}) {
    auto session = session_of(*make_segment(remote, each));
    for (; remote.done() + each <= 40;) {
      ASSERT_TRUE(take_segment(remote, run_once(session, remote), remote.done() + each));
    }
  }
  remote.confirm(40);  // as what is made here is
  EXPECT_EQ(encode(remote.checkpoint()), encode(local.checkpoint()));
}

// The fault: a prime number of steps, and whatever was short, was one segment, which an audit with
// probability 0.1 mostly passed over.
TEST(Segments, AreSeveralHoweverManyStepsThereAre) {
  struct Case {
    std::int64_t steps, each, each_of_few_hashes;
  };
  for (const Case& one : {Case{1, 1, 1}, Case{2, 1, 1}, Case{7, 1, 1}, Case{10, 2, 2},
                          Case{97, 13, 13}, Case{997, 20, 125}, Case{2'000, 20, 250}}) {
    EXPECT_EQ(best_length(one.steps, 20, 10'000), one.each) << one.steps;
    EXPECT_EQ(best_length(one.steps, 1'000'000, 10'000), one.each_of_few_hashes) << one.steps;
    EXPECT_EQ(best_length(one.steps, 20, 1), 1) << one.steps;
    const std::int64_t segments = (one.steps + one.each - 1) / one.each;
    EXPECT_GE(segments, std::min<std::int64_t>(one.steps, 5)) << one.steps;
  }
  EXPECT_EQ(best_length(2'000, 30, 10'000), 40);  // divides, as 30 does not
}

TEST(Segments, OfATrainingThatGoesOnAreAsLong) {
  const SmallTraining training("steps: 1000\noptimiser: {kind: sgd, rate: 0.05}\n");
  Trainer trainer = make(training);
  const auto from_start = segment_length(trainer);
  ASSERT_TRUE(from_start) << from_start.error().message;
  EXPECT_GT(*from_start, 1);
  for (std::int64_t t = 0; t < *from_start; ++t) ASSERT_TRUE(trainer.step());
  EXPECT_EQ(segment_length(trainer).value(), *from_start);
  // 1 is the greatest divisor of both the steps and those that are done.
  ASSERT_TRUE(trainer.step());
  const auto later = segment_length(trainer);
  ASSERT_TRUE(later);
  EXPECT_GE(*later, *from_start / 2);
  EXPECT_LE(*later, *from_start);
}

TEST(Segments, EndWithWhatIsLeft) {
  const SmallTraining training("steps: 97\noptimiser: {kind: sgd, rate: 0.05}\n");
  Trainer trainer = make(training);
  const auto each = segment_length(trainer);
  ASSERT_TRUE(each) << each.error().message;
  EXPECT_EQ(*each, 13);
  while (trainer.done() + *each <= 97) {
    EXPECT_EQ(segment_length(trainer).value(), *each);
    for (std::int64_t t = 0; t < *each; ++t) ASSERT_TRUE(trainer.step());
  }
  EXPECT_EQ(segment_length(trainer).value(), 6);
}

TEST(Segments, AreEvaluatedAndKeptWhereStepsWouldBe) {
  const char* const plan =
      "steps: 40\noptimiser: {kind: sgd, rate: 0.05}\n"
      "evaluate: {data: {x: x.npy, target: y.npy}, every: 15}\n"
      "checkpoint: {file: kept, every: 20}\n";
  const SmallTraining training(plan);
  Trainer trainer = make(training);
  auto session = session_of(*make_segment(trainer, 10));
  while (trainer.done() < 40) {
    const std::int64_t before = trainer.done();
    ASSERT_TRUE(take_segment(trainer, run_once(session, trainer), before + 10));
    const auto kept = trainer.keep_up(before);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(std::filesystem::exists(training.file("kept")), trainer.done() >= 20);
  }
  std::vector<std::int64_t> steps;
  for (const auto& found : trainer.held_out()) steps.push_back(found.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{20, 30, 40}));
}

}  // namespace
}  // namespace commensal::train
