// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/noise/targets.hpp>

namespace commensal::noise {
namespace {

using graph::testing::GraphMaker;
using tensor::DType;
using tensor::Tensor;
using Places = std::vector<std::uint32_t>;

Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}
Tensor letters(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

/// letter -> a row of a table, plus the state, which is the output; and the letter passed on.
std::shared_ptr<const graph::Graph> recurrent() {
  GraphMaker maker;
  const auto letter = maker.input({-1}, DType::kInt64);
  const auto state = maker.input({-1});
  const auto table = maker.floats({4}, 0.25f);
  const auto sum = maker.node("Add", {maker.node("Gather", {table, letter}), state});
  maker.output(maker.node("Identity", {letter}));
  maker.output(sum);
  for (const auto id : maker.graph().outputs) {
    auto& declared = maker.graph().values[static_cast<std::size_t>(id)].declared;
    declared.dtype = id == sum ? DType::kFloat32 : DType::kInt64;
    declared.ranked = true;
    declared.dims = {-1};
    declared.symbols = {""};
  }
  return maker.finish();
}

/// Integers only: two rows of tables, summed.
std::shared_ptr<const graph::Graph> embedding() {
  GraphMaker maker;
  const auto letter = maker.input({-1}, DType::kInt64);
  const auto next = maker.node("Add", {letter, maker.integers({1})});
  const auto row = maker.node("Gather", {maker.floats({4}, 0.25f), next});
  maker.output(maker.node("Mul", {row, maker.floats({1}, 2)}));
  return maker.finish();
}

TEST(NoiseTargets, AreTheFloatingInputsThatAreFed) {
  GraphMaker maker;
  maker.input({2});
  maker.input({2}, DType::kInt64);
  maker.input({2}, DType::kFloat16);
  EXPECT_EQ(noisy_inputs(maker.graph(), {}), (Places{0, 2}));
  EXPECT_EQ(noisy_inputs(maker.graph(), {{0, 1}, {0, 2}}), (Places{2}));
  EXPECT_EQ(noisy_inputs(maker.graph(), {{0, 1}}), (Places{}));
}

TEST(NoiseTargets, FeedsMustFit) {
  const auto graph = recurrent();
  EXPECT_TRUE(check_feeds(*graph, {{0, 0}, {1, 1}}));
  EXPECT_EQ(check_feeds(*graph, {{1, 0}}).error().message,
            "output 'v4' is float32[-1] and cannot be input 'x0', which is int64[-1]");
  EXPECT_EQ(check_feeds(*graph, {{0, 2}}).error().message,
            "a feed from output 0 to input 2 of a model with 2 outputs, 2 inputs");
}

TEST(NoisySession, AddsToFedInputsOnly) {
  auto session = NoisySession::create(recurrent(), {}, {{0, 0}, {1, 1}});
  ASSERT_TRUE(session) << session.error().message;
  const std::vector<Tensor> inputs = {letters({1, 2}), floats({1, -1})};
  const auto plain = session->run(inputs, std::nullopt);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(values_of((*plain)[1]), (std::vector<float>{1.25f, -0.75f}));
  const auto noisy = session->run(inputs, Noise{{9}, 8});
  ASSERT_TRUE(noisy);
  const auto state = add(inputs[1], {9}, 1, 8);
  EXPECT_EQ(values_of((*noisy)[1]),
            (std::vector<float>{state->data<float>()[0] + 0.25f, state->data<float>()[1] + 0.25f}));
}

TEST(NoisySession, OfIntegerInputsTakesTheFirstFloatingValue) {
  auto session = NoisySession::create(embedding(), {});
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->noisy_inputs().empty());
  const auto noisy = session->run(std::vector{letters({0, 2, 1})}, Noise{{9}, 8});
  ASSERT_TRUE(noisy) << noisy.error().message;
  const auto rows = add(floats({0.25f, 0.25f, 0.25f}), {9}, kInnerTensor, 8);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*noisy)[0].data<float>()[i], 2 * rows->data<float>()[i]);
  }
  // Other shapes later: the cut stays.
  EXPECT_TRUE(session->run(std::vector{letters({0, 2})}, Noise{{9}, 8}));
}

TEST(NoisySession, CutsLeaveOutWhatNobodyNeeds) {
  const auto graph = embedding();
  const Cut cut = cut_at(*graph, graph->nodes[1].outputs[0], DType::kFloat32);
  EXPECT_EQ(cut.before->nodes.size(), 2u);
  EXPECT_EQ(cut.after->nodes.size(), 1u);
  EXPECT_EQ(cut.after->inputs.size(), 2u);
}

TEST(NoisySession, RefusesWhatHasNothingFloating) {
  GraphMaker maker;
  maker.output(maker.node("Neg", {maker.input({-1}, DType::kInt64)}));
  auto session = NoisySession::create(maker.finish(), {});
  ASSERT_TRUE(session);
  const auto noisy = session->run(std::vector{letters({0})}, Noise{});
  ASSERT_FALSE(noisy);
  EXPECT_EQ(noisy.error().message,
            "the model has no floating-point tensor that depends on its inputs and that noise "
            "could go onto");
}

}  // namespace
}  // namespace commensal::noise
