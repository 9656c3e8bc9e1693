// SPDX-License-Identifier: Apache-2.0
// Parts of a batch and values that are made again: what they change, and what they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/train/memory.hpp>
#include <commensal/compute/train/testing/small_training.hpp>

namespace commensal::train {
namespace {

using graph::Backend;
using testing::digest_after;
using ::testing::HasSubstr;
using testing::refusal;
using testing::SmallTraining;
using testing::trainer_of;

constexpr const char* kHow =
    "optimiser: {kind: adamw, rate: 0.01, decay: 0.01, clip: 1}\nsteps: 20\n";

std::string digest_of(const std::string& more, int steps,
                      const graph::SessionOptions& options = {}) {
  return digest_after(SmallTraining(kHow + more), steps, options);
}

TEST(EqualityTrainingMemory, WhatIsMadeAgainHasTheSameBits) {
  const std::string expected = digest_of("", 20, {.backend = Backend::kRef});
  ASSERT_EQ(expected.size(), 64U);
  for (const char* const how :
       {"recompute: true\n", "recompute: [b, c]\n", "recompute: [a, b, c, d, e]\n"}) {
    EXPECT_EQ(digest_of(how, 20, {.threads = 2}), expected) << how;
    EXPECT_EQ(digest_of(how, 3, {.backend = Backend::kRef}), digest_of("", 3)) << how;
  }
}

TEST(EqualityTrainingMemory, PartsOfABatchEndInTheSameBitsEverywhere) {
  for (const char* const parts : {"accumulate: 2\n", "accumulate: 4\nrecompute: true\n"}) {
    const std::string expected = digest_of(parts, 20, {.backend = Backend::kRef});
    ASSERT_EQ(expected.size(), 64U);
    EXPECT_NE(expected, digest_of("", 20)) << "sums in another order";
    for (const kernels::Isa isa : kernels::available_isas())
      EXPECT_EQ(digest_of(parts, 20, {.isa = isa, .threads = 3}), expected);
  }
}

/// Two dozen layers of a batch that is much larger than their weights.
struct Deep {
  graph::testing::GraphMaker maker;
  StepRequest request;

  Deep() {
    auto x = maker.input({512, 32});
    for (int layer = 0; layer < 24; ++layer) {
      const auto w = maker.floats({32, 32});
      request.weights.push_back(maker.graph().name_of(w));
      x = maker.node("Tanh", {maker.node("MatMul", {x, w})});
    }
    kernels::Attributes flat;
    flat.set("keepdims", std::int64_t{0});
    const auto loss = maker.node("ReduceMean", {x}, flat);
    maker.output(loss);
    request.inputs = {{tensor::DType::kFloat32, {512, 32}}};
    request.loss.kind = LossKind::kValue;
    request.loss.output = maker.graph().name_of(loss);
    request.optimiser.kind = OptimiserKind::kMomentum;
  }

  /// The outputs of one step in so much memory; none where it does not do.
  std::vector<tensor::Tensor> run(std::int64_t memory_bytes) {
    const auto step = make_step(maker.graph(), request);
    EXPECT_TRUE(step) << step.error().message;
    std::vector<tensor::Tensor> inputs;
    std::int64_t count = 0;
    for (const graph::ValueId id : step->graph->inputs) {
      const auto type = *step->graph->values[static_cast<std::size_t>(id)].declared.type();
      std::vector<float> values;
      for (std::int64_t i = 0; i < type.shape.elements(); ++i)
        values.push_back(0.01f * static_cast<float>((i * 7 + count) % 41 - 20));
      ++count;
      inputs.push_back(tensor::Tensor::of<float>(type.shape, values));
    }
    auto session =
        graph::Session::create(step->graph, {.threads = 1, .memory_bytes_max = memory_bytes});
    EXPECT_TRUE(session);
    auto made = session->run(inputs);
    if (made) return *std::move(made);
    EXPECT_EQ(made.error().code, core::ErrorCode::kResourceExhausted) << made.error().message;
    return {};
  }

  /// The least that does, to 4 KiB.
  std::int64_t least_bytes() {
    std::int64_t few = 0, enough = std::int64_t{1} << 26;
    while (enough - few > 4096) {
      const std::int64_t middle = (few + enough) / 2;
      (run(middle).empty() ? few : enough) = middle;
    }
    return enough;
  }
};

TEST(TrainingMemory, TakesLessWhereValuesAreMadeAgainOrBatchesAreParted) {
  Deep deep;
  const std::int64_t plain = deep.least_bytes();
  const auto expected = deep.run(std::int64_t{1} << 26);
  deep.request.recompute.all = true;
  const std::int64_t again = deep.least_bytes();
  EXPECT_LT(again, plain * 3 / 4) << plain;
  const auto made = deep.run(again);
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(made[i].bytes(), expected[i].bytes())) << i;
  deep.request.recompute.all = false;
  deep.request.accumulate = 8;
  EXPECT_LT(deep.least_bytes(), plain / 2) << plain;
}

TEST(TrainingMemory, TheMeanOfPartsIsThatOfTheBatch) {
  // Without BatchNormalization, which looks at a batch as a whole.
  const SmallTraining whole("weights: [fc.w, fc.b]\noptimiser: {kind: sgd, rate: 0.1}\n");
  const SmallTraining parts(
      "weights: [fc.w, fc.b]\noptimiser: {kind: sgd, rate: 0.1}\naccumulate: 8\n");
  auto one = trainer_of(whole), two = trainer_of(parts);
  ASSERT_TRUE(one && two);
  for (int t = 0; t < 5; ++t) {
    ASSERT_EQ(testing::run(*one, 1), "");
    ASSERT_EQ(testing::run(*two, 1), "");
    EXPECT_NEAR(one->losses().back(), two->losses().back(), 1e-5);
  }
  const auto w = one->state()[0].value.data<float>(), v = two->state()[0].value.data<float>();
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], v[i], 1e-5);
}

TEST(TrainingMemory, WhatCannotBeIsRefused) {
  EXPECT_THAT(digest_of("accumulate: 5\n", 1), HasSubstr("'batch' is 16, expected a multiple"));
  EXPECT_THAT(digest_of("accumulate: 0\n", 1), HasSubstr("'accumulate' is '0'"));
  EXPECT_THAT(digest_of("recompute: [nothing]\n", 1), HasSubstr("no node makes 'nothing'"));
  EXPECT_THAT(digest_of("recompute: [fc.w]\n", 1), HasSubstr("no node makes 'fc.w'"));
  EXPECT_THAT(digest_of("recompute: perhaps\n", 1), HasSubstr("expected true, false or a list"));
}

}  // namespace
}  // namespace commensal::train
