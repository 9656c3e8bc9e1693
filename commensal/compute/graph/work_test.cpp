// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/graph/work.hpp>

namespace commensal::graph {
namespace {

using kernels::Attributes;
using kernels::Call;
using tensor::Shape;
using tensor::Tensor;
using Ints = std::vector<std::int64_t>;

/// Of one call, with inputs of zeros.
std::int64_t ops_of(const kernels::Operator& op, const std::vector<Shape>& shapes,
                    const Attributes& attributes) {
  std::vector<Tensor> zeros;
  std::vector<const Tensor*> inputs;
  for (const Shape& shape : shapes) {
    const std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    zeros.push_back(Tensor::of<float>(shape, values));
  }
  for (const Tensor& one : zeros) inputs.push_back(&one);
  Call call;
  call.opset = 14;
  call.attributes = &attributes;
  call.inputs = inputs;
  auto types = op.judge->infer(call);
  EXPECT_TRUE(types) << types.error().message;
  if (types) call.outputs = *std::move(types);
  return work_of(op, call).ops;
}
std::int64_t ops_of(std::string_view name, const std::vector<Shape>& shapes,
                    const Attributes& attributes) {
  const auto op = kernels::find_operator("", name, 14);
  EXPECT_TRUE(op);
  return ops_of(**op, shapes, attributes);
}

// The fault: each element of a recurrent layer counted as one operation.
TEST(Work, OfRecurrentLayersIsTheirProducts) {
  const std::int64_t steps = 6, batch = 5, width = 7, units = 9;
  const std::pair<const char*, std::int64_t> kLayers[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [name, gates] : kLayers) {
    const std::int64_t ops = ops_of(
        name, {{steps, batch, width}, {1, gates * units, width}, {1, gates * units, units}}, {});
    EXPECT_EQ(ops, 2 * steps * batch * units * gates * (width + units)) << name;
  }
}

// The fault: each element counted all that its row or group shares.
TEST(Work, OfNormalisationsIsSomePassesOverTheirElements) {
  EXPECT_EQ(ops_of("InstanceNormalization", {{1, 2, 64, 64}, {2}, {2}}, {}), 8 * 2 * 64 * 64);
  EXPECT_EQ(ops_of("LpNormalization", {{3, 1000}}, {}), 8 * 3000);
  EXPECT_EQ(ops_of("Softmax", {{3, 1000}}, {}), 8 * 3000);
}

// The fault: where both samples of the outputs lay in the padding nothing was counted.
TEST(Work, OfPoolsDoesNotHideInThePadding) {
  for (const char* name : {"MaxPool", "AveragePool", "LpPool"}) {
    Attributes attributes;
    attributes.set("kernel_shape", Ints{1024});
    attributes.set("pads", Ints{name == std::string_view("MaxPool") ? 15 * 1024 : 1023, 0});
    EXPECT_GE(ops_of(name, {{1, 1, 1024}}, attributes), 1024 * 1024) << name;
  }
}

// The fault: channels that only fill a block counted, of one channel sixteen times too much.
TEST(Work, OfConvolutionsInBlocksIsThatOfTheirChannels) {
  const auto& conv = kernels::operator_of(kernels::Role::kBlockedConv, 14);
  Attributes same;
  same.set("pads", Ints{1, 1, 1, 1});
  EXPECT_EQ(ops_of(conv, {{1, 1, 128, 128, 16}, {1, 1, 3, 3}}, same), 2 * 9 * 128 * 128);
  EXPECT_EQ(ops_of(conv, {{2, 1, 8, 8, 16}, {17, 16, 3, 3}}, same), 2 * 2 * 17 * 16 * 9 * 64);
  const auto& pair = kernels::operator_of(kernels::Role::kBlockedExpand, 14);
  same.set("group", std::int64_t{24});
  EXPECT_EQ(ops_of(pair, {{1, 1, 8, 8, 16}, {24, 16, 1, 1}, {24, 1, 3, 3}}, same),
            2 * 24 * 64 * (16 + 9));
}

// The fault: to find out what it selects, NonMaxSuppression compared all boxes before anything was
// charged, and counted as few operations as it has outputs.
TEST(Work, OfNonMaxSuppressionIsChargedBeforeItIsInferred) {
  constexpr std::int64_t kBoxes = 3000;
  std::vector<float> corners;
  for (std::int64_t i = 0; i < kBoxes; ++i) {
    const auto at = static_cast<float>(2 * i);
    corners.insert(corners.end(), {at, 0, at + 1, 1});
  }
  testing::GraphMaker maker;
  const ValueId boxes = maker.input({1, kBoxes, 4}), scores = maker.input({1, 1, kBoxes});
  maker.output(maker.node("NonMaxSuppression", {boxes, scores, maker.integers({kBoxes})}));
  const Tensor inputs[] = {
      Tensor::of<float>({1, kBoxes, 4}, corners),
      Tensor::of<float>({1, 1, kBoxes}, std::vector<float>(static_cast<std::size_t>(kBoxes), 1))};
  Session session = *Session::create(maker.finish(), {});
  const auto refused = session.run(inputs, {.ops_max = kBoxes * kBoxes});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kOverBudget) << refused.error().message;
  EXPECT_TRUE(session.run(inputs, {.ops_max = 3 * kBoxes * kBoxes}));
}

}  // namespace
}  // namespace commensal::graph
