// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm by a constant matrix, with what follows them done to the sums before they are
// stored.
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <limits>

namespace commensal::graph::optimise {

using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

constexpr std::size_t kBias = 2, kResidual = 3;

const Tensor* constant_matrix(const Rewriter& rewriter, ValueId id) {
  const Tensor* b = rewriter.constant(id);
  const bool fits =
      b != nullptr && b->dtype() == DType::kFloat32 && b->shape().rank() == 2 && b->elements() > 0;
  return fits ? b : nullptr;
}

bool is_float32(const TensorType* type, int rank_min) {
  return type != nullptr && type->dtype == DType::kFloat32 && type->shape.rank() >= rank_min &&
         type->shape.elements() > 0;
}

/// A constant with one element for each column.
bool is_bias(const Rewriter& rewriter, ValueId id, std::int64_t columns) {
  const Tensor* bias = rewriter.constant(id);
  return bias != nullptr && bias->dtype() == DType::kFloat32 && bias->elements() == columns &&
         bias->shape().rank() > 0 && bias->shape()[bias->shape().rank() - 1] == columns;
}

void take_matmul(Rewriter& rewriter, std::size_t index) {
  const Node& node = rewriter.node(index);
  if (!is_float32(rewriter.type(node.inputs[0]), 2) ||
      !is_float32(rewriter.type(node.outputs[0]), 2))
    return;
  if (constant_matrix(rewriter, node.inputs[1]) == nullptr) return;
  rewriter.replace(index, internal_node(Role::kRowsMatMul, node, node.inputs, {}));
}

void take_gemm(Rewriter& rewriter, std::size_t index) {
  const Node& node = rewriter.node(index);
  const auto alpha = node.attributes.real("alpha", 1), beta = node.attributes.real("beta", 1);
  const auto a = node.attributes.integer("transA", 0), b = node.attributes.integer("transB", 0);
  const Tensor* matrix = constant_matrix(rewriter, node.inputs[1]);
  if (!alpha || *alpha != 1 || !beta || *beta != 1 || !a || *a != 0 || !b || matrix == nullptr ||
      node.opset < 7 || !is_float32(rewriter.type(node.inputs[0]), 2) ||
      !is_float32(rewriter.type(node.outputs[0]), 2)) {
    return;
  }
  const bool biased = node.inputs.size() > kBias && node.inputs[kBias] != kAbsent;
  if (biased && !is_bias(rewriter, node.inputs[kBias], matrix->shape()[*b != 0 ? 0 : 1])) return;
  kernels::Attributes attributes;
  attributes.set("transB", *b);
  rewriter.replace(index,
                   internal_node(Role::kRowsMatMul, node, node.inputs, std::move(attributes)));
}

/// The product that `id` comes from and that nobody else reads, as long as nothing but a bias and
/// a residual has been done to it.
std::optional<Node> open_product(const Rewriter& rewriter, ValueId id) {
  const auto from = own_producer(rewriter, id);
  if (!from) return std::nullopt;
  const Node& node = rewriter.node(*from);
  const bool open =
      is(node, Role::kRowsMatMul) && !node.attributes.has("low") && !node.attributes.has("divisor");
  return open ? std::optional(node) : std::nullopt;
}

void fuse(Rewriter& rewriter, std::size_t index, const Node& like, Node product) {
  product.outputs = like.outputs;
  rewriter.replace(index, std::move(product));
}

void fuse_add(Rewriter& rewriter, std::size_t index) {
  const Node node = rewriter.node(index);
  const TensorType* type = rewriter.type(node.outputs[0]);
  for (const std::size_t place : {1, 0}) {
    const ValueId other = node.inputs[1 - place];
    auto product = open_product(rewriter, node.inputs[place]);
    if (!product || type == nullptr || *type != *rewriter.type(node.inputs[place])) continue;
    product->inputs.resize(std::max(product->inputs.size(), kBias + 1), kAbsent);
    const std::int64_t columns = type->shape[type->shape.rank() - 1];
    if (product->inputs.size() == kBias + 1 && product->inputs[kBias] == kAbsent &&
        is_bias(rewriter, other, columns)) {
      product->inputs[kBias] = other;
      return fuse(rewriter, index, node, *std::move(product));
    }
    const TensorType* residual = rewriter.type(other);
    if (product->inputs.size() > kResidual || residual == nullptr || *residual != *type) continue;
    product->inputs.push_back(other);
    return fuse(rewriter, index, node, *std::move(product));
  }
}

void fuse_end(Rewriter& rewriter, std::size_t index) {
  const Node node = rewriter.node(index);
  auto product = open_product(rewriter, node.inputs[0]);
  if (!product) return;
  if (is(node, Role::kRelu)) {
    product->attributes.set("low", 0.0f);
    product->attributes.set("high", std::numeric_limits<float>::infinity());
    return fuse(rewriter, index, node, *std::move(product));
  }
  const bool is_gelu = is(node, Role::kGeluSteps);
  const auto divisor = node.attributes.real("divisor", 1);
  if (!is_gelu || !divisor) return;
  product->attributes.set("divisor", *divisor);
  fuse(rewriter, index, node, *std::move(product));
}

}  // namespace

void pack_products(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) {
    if (is(rewriter.node(i), Role::kMatMul)) take_matmul(rewriter, i);
    if (is(rewriter.node(i), Role::kGemm)) take_gemm(rewriter, i);
  }
}

void fuse_products(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) {
    if (rewriter.node(i).inputs.empty()) continue;
    if (is(rewriter.node(i), Role::kAdd)) {
      fuse_add(rewriter, i);
    } else {
      fuse_end(rewriter, i);
    }
  }
}

}  // namespace commensal::graph::optimise
