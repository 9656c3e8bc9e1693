// SPDX-License-Identifier: Apache-2.0
// What transformers write in many operators and an optimised graph has in one.
#include <commensal/compute/graph/optimise/testing/fusion_cases.hpp>

namespace commensal::graph::optimise {
namespace {

using namespace testing;
using namespace graph::testing;
using tensor::Tensor;

ValueId random_constant(GraphMaker& maker, const tensor::Shape& shape, std::uint64_t seed) {
  kernels::testing::Draw draw(seed, 3);
  return maker.constant(kernels::testing::random_of(draw, tensor::DType::kFloat32, shape));
}

ValueId layer_norm(GraphMaker& maker, ValueId x, std::int64_t n, bool swapped = false) {
  const auto along = with("axes", Ints{-1});
  const ValueId d = maker.node("Sub", {x, maker.node("ReduceMean", {x}, along, 13)});
  const ValueId power = maker.node("Pow", {d, number_of(maker, 2)});
  const ValueId variance = maker.node("ReduceMean", {power}, along, 13);
  const ValueId root = maker.node("Sqrt", {maker.node("Add", {variance, number_of(maker, 1e-5f)})});
  const ValueId ratio = maker.node("Div", {d, root});
  const ValueId scale = random_constant(maker, {n}, 1), bias = random_constant(maker, {n}, 2);
  if (!swapped) return maker.node("Add", {maker.node("Mul", {ratio, scale}), bias});
  return maker.node("Add", {bias, maker.node("Mul", {scale, ratio})});
}

ValueId gelu(GraphMaker& maker, ValueId x, bool swapped = false) {
  const ValueId erf = maker.node("Erf", {maker.node("Div", {x, number_of(maker, 1.41421354f)})});
  const ValueId sum = maker.node("Add", {erf, number_of(maker, 1)});
  const ValueId product = maker.node("Mul", swapped ? std::vector{sum, x} : std::vector{x, sum});
  return maker.node("Mul", {product, number_of(maker, 0.5f)});
}

TEST(EqualityFusion, LayerNorm) {
  for (const bool swapped : {false, true}) {
    GraphMaker maker;
    const ValueId x = maker.input({2, 19, 96});
    maker.output(layer_norm(maker, layer_norm(maker, x, 96, swapped), 96));
    expect_fused(maker, Role::kLayerNormSteps, 2);
  }
}

TEST(EqualityFusion, LayerNormOfAnotherPowerStays) {
  GraphMaker maker;
  const ValueId x = maker.input({3, 8});
  const auto along = with("axes", Ints{-1});
  const ValueId d = maker.node("Sub", {x, maker.node("ReduceMean", {x}, along, 13)});
  const ValueId power = maker.node("Pow", {d, number_of(maker, 3)});
  const ValueId variance = maker.node("ReduceMean", {power}, along, 13);
  const ValueId root = maker.node("Sqrt", {maker.node("Add", {variance, number_of(maker, 1)})});
  const ValueId ratio = maker.node("Div", {d, root});
  const ValueId product = maker.node("Mul", {ratio, random_constant(maker, {8}, 1)});
  maker.output(maker.node("Add", {product, random_constant(maker, {8}, 2)}));
  expect_fused(maker, Role::kLayerNormSteps, 0);
}

TEST(EqualityFusion, GeluBehindASum) {
  for (const bool swapped : {false, true}) {
    GraphMaker maker;
    const ValueId x = maker.input({37, 64});
    maker.output(gelu(maker, maker.node("Add", {x, random_constant(maker, {64}, 1)}), swapped));
    expect_fused(maker, Role::kGeluSteps, 1);
  }
}

ValueId reshape(GraphMaker& maker, ValueId x, const Ints& dims) {
  return maker.node("Reshape", {x, maker.integers(dims)});
}
ValueId transpose(GraphMaker& maker, ValueId x, const Ints& order) {
  return maker.node("Transpose", {x}, with("perm", order));
}

/// Three projections cut into heads; scores over a number, then a mask for each key.
TEST(EqualityFusion, AttentionOfThreeProjections) {
  GraphMaker maker;
  const ValueId x = maker.input({2, 21, 24}), mask = maker.input({2, 1, 1, 21});
  const auto head = [&](std::uint64_t seed, const Ints& order) {
    const ValueId y = maker.node("MatMul", {x, random_constant(maker, {24, 24}, seed)});
    return transpose(maker, reshape(maker, y, {2, 21, 3, 8}), order);
  };
  const ValueId q = head(1, {0, 2, 1, 3}), k = head(2, {0, 2, 3, 1}), v = head(3, {0, 2, 1, 3});
  ValueId s = maker.node("Div", {maker.node("MatMul", {q, k}), number_of(maker, 2.8284271f)});
  s = maker.node("Softmax", {maker.node("Add", {s, mask})}, with("axis", std::int64_t{-1}));
  const ValueId y = transpose(maker, maker.node("MatMul", {s, v}), {0, 2, 1, 3});
  maker.output(reshape(maker, y, {2, 21, 24}));
  expect_fused(maker, Role::kFusedAttention, 1);
}

/// One projection, its parts cut out by Slice; the batch in the second place; q scaled before.
TEST(EqualityFusion, AttentionOfSlices) {
  GraphMaker maker;
  const ValueId x = maker.input({29, 1, 3 * 32});
  const auto part = [&](std::int64_t i) {
    const ValueId cut = maker.node("Slice", {x, maker.integers({i * 32}),
                                             maker.integers({i * 32 + 32}), maker.integers({-1})});
    return reshape(maker, cut, {29, 4, 8});
  };
  ValueId q = transpose(maker, part(0), {1, 0, 2});
  q = maker.node("Div", {q, number_of(maker, 8)});
  const ValueId k = transpose(maker, part(1), {1, 2, 0}), v = transpose(maker, part(2), {1, 0, 2});
  const ValueId s =
      maker.node("Softmax", {maker.node("MatMul", {q, k})}, with("axis", std::int64_t{2}));
  const ValueId y = transpose(maker, maker.node("MatMul", {s, v}), {1, 0, 2});
  maker.output(reshape(maker, y, {29, 32}));
  expect_fused(maker, Role::kFusedAttention, 1);
}

/// Windows: parts by Gather, a bias for each head, then behind a Reshape a mask for each window.
TEST(EqualityFusion, AttentionOfWindows) {
  GraphMaker maker;
  const ValueId x = maker.input({4, 9, 3 * 16});
  const ValueId parts = transpose(maker, reshape(maker, x, {4, 9, 3, 2, 8}), {2, 0, 3, 1, 4});
  const auto part = [&](std::int64_t i) {
    const ValueId at = maker.constant(Tensor::of<std::int64_t>({}, std::span(&i, 1)));
    return maker.node("Gather", {parts, at}, with("axis", std::int64_t{0}));
  };
  const ValueId q = maker.node("Mul", {part(0), number_of(maker, 0.35355338f)});
  ValueId s = maker.node("MatMul", {q, transpose(maker, part(1), {0, 1, 3, 2})});
  s = maker.node("Add", {s, random_constant(maker, {1, 2, 9, 9}, 4)});
  s = reshape(maker, s, {1, 4, 2, 9, 9});
  s = maker.node("Add", {s, random_constant(maker, {1, 4, 1, 9, 9}, 5)});
  s = reshape(maker, s, {4, 2, 9, 9});
  s = maker.node("Softmax", {s}, with("axis", std::int64_t{-1}));
  s = maker.node_of("Dropout", {s, number_of(maker, 0)}, {}, 13)[0];
  const ValueId y = transpose(maker, maker.node("MatMul", {s, part(2)}), {0, 2, 1, 3});
  maker.output(reshape(maker, y, {4, 9, 16}));
  expect_fused(maker, Role::kFusedAttention, 1);
}

/// What somebody else reads must be there: the weights themselves, or the scores.
TEST(EqualityFusion, AttentionThatIsLookedIntoStays) {
  for (const bool weights : {false, true}) {
    GraphMaker maker;
    const ValueId q = maker.input({3, 10, 8}), k = maker.input({3, 8, 10});
    const ValueId scores = maker.node("MatMul", {q, k});
    const ValueId s = maker.node("Softmax", {scores}, with("axis", std::int64_t{-1}));
    maker.output(maker.node("MatMul", {s, q}));
    maker.output(weights ? s : scores);
    expect_fused(maker, Role::kFusedAttention, 0);
  }
}

/// Softmax over another axis, and batches that a product repeats.
TEST(EqualityFusion, AttentionAcross) {
  GraphMaker across;
  const ValueId a = across.input({3, 10, 8}), b = across.input({3, 8, 10});
  const ValueId s =
      across.node("Softmax", {across.node("MatMul", {a, b})}, with("axis", std::int64_t{1}));
  across.output(across.node("MatMul", {s, a}));
  expect_fused(across, Role::kFusedAttention, 0);
  GraphMaker repeated;
  const ValueId q = repeated.input({3, 1, 10, 8}), k = repeated.input({5, 8, 10});
  const ValueId v = repeated.input({10, 12});
  const ValueId w =
      repeated.node("Softmax", {repeated.node("MatMul", {q, k})}, with("axis", std::int64_t{-1}));
  repeated.output(repeated.node("MatMul", {w, v}));
  expect_fused(repeated, Role::kFusedAttention, 1);
}

/// Bias on either side, Gelu over an odd number of rows, a residual; rows of a slice.
TEST(EqualityFusion, ProductsByConstants) {
  for (const std::int64_t n : {5, 16, 40, 70, 97}) {
    GraphMaker maker;
    const ValueId x = maker.input({3, 7, 33}), other = maker.input({3, 7, n});
    ValueId y = maker.node("MatMul", {x, random_constant(maker, {33, 2 * n}, 1)});
    y = gelu(maker, maker.node("Add", {random_constant(maker, {2 * n}, 2), y}));
    y = maker.node("MatMul", {y, random_constant(maker, {2 * n, n}, 3)});
    y = maker.node("Add", {y, random_constant(maker, {1, 1, n}, 4)});
    maker.output(maker.node("Add", {y, other}));
    const ValueId cut =
        maker.node("Slice", {x, maker.integers({1}), maker.integers({2}), maker.integers({1})});
    maker.output(maker.node("MatMul", {cut, random_constant(maker, {33, n}, 5)}));
    expect_fused(maker, Role::kRowsMatMul, 3);
  }
}

/// Pad, Slice and Dropout that do nothing go; those that do something stay.
TEST(EqualityFusion, WhatDoesNothing) {
  GraphMaker maker;
  ValueId x = maker.input({4, 6});
  x = maker.node("Pad", {x, maker.integers({0, 0, 0, 0})});
  x = maker.node("Slice", {x, maker.integers({0}), maker.integers({99}), maker.integers({1})});
  const bool yes = true;
  const ValueId trains = maker.constant(Tensor::of<bool>({}, std::span(&yes, 1)));
  x = maker.node("Dropout", {x, number_of(maker, 0), trains});  // NaNs become canonical
  x = maker.node("Add", {x, number_of(maker, 1)});
  x = maker.node_of("Dropout", {x, number_of(maker, 0), trains}, {}, 13, 2)[0];
  x = maker.node("Slice", {x, maker.integers({-1}), maker.integers({-99}), maker.integers({1}),
                           maker.integers({-1})});
  maker.output(maker.node("Relu", {x}));
  expect_fused(maker, Role::kFusedAttention, 0);
  const auto fused = optimised(*maker.finish(),
                               std::vector<tensor::TensorType>{{tensor::DType::kFloat32, {4, 6}}});
  EXPECT_EQ(fused->nodes.size(), 4U);  // Dropout, Add, Slice, Relu
}

/// An input that may be absent, as the count of a Loop, is nobody's.
TEST(Rewriter, NobodyMakesOrReadsWhatIsAbsent) {
  GraphMaker maker;
  maker.output(maker.node("Relu", {maker.input({4})}));
  const auto graph = maker.finish();
  const Rewriter rewriter(
      *graph, {.types = std::vector<std::optional<tensor::TensorType>>(graph->values.size()),
               .constants = {}});
  EXPECT_FALSE(rewriter.only_user(kAbsent));
  EXPECT_FALSE(rewriter.producer(kAbsent));
  EXPECT_EQ(rewriter.uses(kAbsent), 0);
  EXPECT_FALSE(rewriter.is_read(kAbsent));
}

}  // namespace
}  // namespace commensal::graph::optimise
