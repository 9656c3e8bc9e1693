// SPDX-License-Identifier: Apache-2.0
// What depends on shapes and attributes alone is made once for all runs of a node.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <cstring>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;
using Ints = std::vector<std::int64_t>;

Case small(std::string_view name, std::vector<Tensor> inputs, int opset = 13) {
  return {.name = name,
          .opset = opset,
          .attributes = {},
          .inputs = std::move(inputs),
          .constants = {},
          .serves = true};
}
Case window(std::string_view name, std::vector<Tensor> inputs) {
  Case made = small(name, std::move(inputs), 18);
  made.attributes.set("kernel_shape", Ints{3, 3});
  made.attributes.set("pads", Ints{1, 1, 1, 1});
  return made;
}

Tensor codes(const Shape& shape, std::uint8_t step) {
  std::vector<std::uint8_t> data(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * step);
  return Tensor::of<std::uint8_t>(shape, data);
}

std::vector<Case> small_products_of_codes() {
  const auto scale = [](float one) { return Tensor::of<float>({}, std::array{one}); };
  const auto product = [&](std::string_view name, const Shape& a, const Shape& b) {
    Case made = small(name, {codes(a, 37), scale(0.02f), codes({}, 0), codes(b, 59), scale(0.01f),
                             codes({}, 0), scale(0.03f), codes({}, 0)});
    made.constants = {3};
    return made;
  };
  std::vector<Case> made = {product("QLinearMatMul", {4, 4}, {4, 4}),
                            product("QLinearConv", {1, 1, 4, 4}, {1, 1, 3, 3}),
                            product("QLinearConv", {1, 2, 4, 4}, {2, 2, 3, 3})};
  for (Case& one : made) {
    if (one.name == "QLinearConv") one.attributes.set("pads", Ints{1, 1, 1, 1});
  }
  return made;
}

std::vector<Case> small_cases() {
  const Tensor x = random_tensor({1, 1, 4, 4}, 1), w = random_tensor({1, 1, 3, 3}, 2);
  std::vector<Case> made = {window("MaxPool", {x}), window("AveragePool", {x}),
                            window("LpPool", {x}), window("Conv", {x, w}),
                            window("ConvTranspose", {x, w})};
  made[3].constants = made[4].constants = {1};
  made.push_back(small("GlobalMaxPool", {x}));
  made.push_back(small("GlobalAveragePool", {x}));
  made.push_back(small("LRN", {random_tensor({1, 4, 2, 2}, 1)}));
  made.back().attributes.set("size", std::int64_t{3});
  made.push_back(small("Einsum", {random_tensor({2, 4}, 1), random_tensor({4, 4}, 2)}));
  made.back().attributes.set("equation", std::string("ij,jk->ik"));
  made.push_back(small("DeformConv", {x, w, random_tensor({1, 18, 4, 4}, 3)}, 19));
  made.back().attributes.set("pads", Ints{1, 1, 1, 1});
  made.back().constants = {1};
  made.push_back(small("GridSample", {x, random_tensor({1, 4, 4, 2}, 2)}, 20));
  const std::array scales = {1.0f, 1.0f, 2.0f, 0.5f};
  made.push_back(small("Resize", {x, Tensor(), Tensor::of<float>({4}, scales)}));
  made.back().attributes.set("mode", std::string("linear"));
  made.push_back(small("DFT", {random_tensor({1, 8, 2}, 1)}, 17));
  const Tensor heads = random_tensor({1, 1, 2, 4}, 1);
  made.push_back(small("Attention", {heads, heads, heads}, 23));
  made.push_back(small("MatMul", {random_tensor({4, 4}, 1), random_tensor({4, 4}, 2)}));
  const Tensor planes = random_tensor({1, 4, 2, 2}, 1), four = random_tensor({4}, 2);
  const Tensor spread = Tensor::of<float>({4}, std::array{1.0f, 0.5f, 2.0f, 0.0f});
  made.push_back(small("BatchNormalization", {planes, four, four, four, spread}, 15));
  made.push_back(small("InstanceNormalization", {planes, four, four}));
  made.push_back(small("GroupNormalization", {planes, four, four}, 21));
  made.back().attributes.set("num_groups", std::int64_t{2});
  made.push_back(small("MeanVarianceNormalization", {planes}));
  for (Case& one : small_products_of_codes()) made.push_back(std::move(one));
  return made;
}

TEST(EqualitySmallNodes, AsLargeOnes) {
  for (const Case& test : small_cases()) {
    SCOPED_TRACE(test.name);
    expect_equal_to_ref(test);
  }
}

/// The elements in the other order.
Tensor reversed(tensor::Arena& arena, const Tensor& from) {
  Tensor made = *Tensor::allocate(arena, {from.dtype(), from.shape()});
  const auto size = static_cast<std::size_t>(tensor::traits(from.dtype()).size);
  const auto to = made.mutable_bytes();
  for (std::size_t at = 0; at < to.size(); at += size)
    std::memcpy(&to[to.size() - size - at], &from.bytes()[at], size);
  return made;
}

TEST(SmallNodes, KeepWhatTheirRunsShareAndAskForNoMemory) {
  if (available_isas().empty()) GTEST_SKIP() << "this machine has no instruction set of cpu/";
  for (const Case& test : small_cases()) {
    SCOPED_TRACE(test.name);
    const Operator& op = **find_operator("", test.name, test.opset);
    std::vector<const Tensor*> inputs;
    for (const Tensor& input : test.inputs) inputs.push_back(input.defined() ? &input : nullptr);
    std::atomic<std::int64_t> budget = 1 << 20;
    Call call;
    call.opset = test.opset;
    call.attributes = &test.attributes;
    call.inputs = inputs;
    call.outputs = *op.judge->infer(call);
    call.memo.keep(budget, 1);
    tensor::Arena arena(1 << 20), none(1);  // of which nothing is to be had
    std::vector<Tensor> outputs = *allocate_outputs(call, arena);
    ThreadPool threads(1);
    const Isa isa = available_isas().back();
    std::shared_ptr<const Packed> packed;
    if (!test.constants.empty()) {
      std::vector<const Tensor*> weights(inputs.size());
      for (const int i : test.constants) {
        weights[static_cast<std::size_t>(i)] = inputs[static_cast<std::size_t>(i)];
      }
      Call constants = call;
      constants.inputs = weights;
      packed = *op.pack(constants, isa);
      ASSERT_NE(packed, nullptr);
    }
    Workspace ws{none, threads, isa, packed.get()};
    ASSERT_TRUE(op.fast()(call, outputs, ws).has_value());
    const std::int64_t left = budget;
    EXPECT_LT(left, 1 << 20) << "nothing is kept";
    const Tensor other = reversed(arena, test.inputs[0]);  // nothing is kept of elements
    inputs[0] = &other;
    ASSERT_TRUE(op.fast()(call, outputs, ws).has_value());
    EXPECT_EQ(budget, left) << "it is made again";
    EXPECT_FALSE(call.is_judged);
    Call judged = call;
    std::vector<Tensor> expected = *allocate_outputs(judged, arena);
    ASSERT_TRUE(op.judge->run(judged, expected, ws).has_value());
    for (std::size_t o = 0; o < outputs.size(); ++o)
      EXPECT_TRUE(std::ranges::equal(outputs[o].bytes(), expected[o].bytes()));
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
