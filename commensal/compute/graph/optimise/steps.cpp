// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and Gelu as models of older opsets write them, each in one node.
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>

namespace commensal::graph::optimise {

using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

/// x where `id` is its mean over the last dimension, which stays as 1.
std::optional<ValueId> mean_of(const Rewriter& rewriter, ValueId id) {
  const Node* node = made_by(rewriter, id, Role::kReduceMean);
  if (node == nullptr) return std::nullopt;
  const TensorType* type = rewriter.type(node->inputs[0]);
  const auto keep = node->attributes.integer("keepdims", 1);
  if (type == nullptr || type->dtype != DType::kFloat32 || !keep || *keep != 1) {
    return std::nullopt;
  }
  auto axes = node->attributes.integers("axes");
  if (node->opset >= 18 && node->inputs.size() > 1 && node->inputs[1] != kAbsent) {
    const auto given = rewriter.integers(node->inputs[1]);
    if (!given) return std::nullopt;
    axes = *given;
  }
  const std::int64_t last = type->shape.rank() - 1;
  const bool is_last = axes && axes->size() == 1 && ((*axes)[0] == -1 || (*axes)[0] == last);
  return is_last ? std::optional(node->inputs[0]) : std::nullopt;
}

/// A constant with an element for each of the last dimension's.
bool is_along(const Rewriter& rewriter, ValueId id, std::int64_t length) {
  const Tensor* constant = rewriter.constant(id);
  return constant != nullptr && constant->dtype() == DType::kFloat32 &&
         constant->elements() == length && constant->shape().rank() > 0 &&
         constant->shape()[constant->shape().rank() - 1] == length;
}

/// What is left of a binary node when one operand is made by `role`.
struct Sides {
  const Node* made = nullptr;
  ValueId other = kAbsent;
};
std::optional<Sides> sides_of(const Rewriter& rewriter, const Node& node, Role role) {
  for (const std::size_t place : {0, 1}) {
    const Node* made = made_by(rewriter, node.inputs[place], role);
    if (made != nullptr) return Sides{made, node.inputs[1 - place]};
  }
  return std::nullopt;
}

struct Normalised {
  ValueId x = kAbsent;
  float epsilon = 0;
};

/// d / sqrt(mean(pow(d, 2)) + epsilon) with d = x - mean(x).
std::optional<Normalised> normalised(const Rewriter& rewriter, const Node& div) {
  const Node* d = made_by(rewriter, div.inputs[0], Role::kSub);
  const Node* root = made_by(rewriter, div.inputs[1], Role::kSqrt);
  if (d == nullptr || root == nullptr) return std::nullopt;
  const Node* sum = made_by(rewriter, root->inputs[0], Role::kAdd);
  if (sum == nullptr) return std::nullopt;
  const auto variance = with_number(rewriter, *sum, true);
  if (!variance) return std::nullopt;
  const auto powers = mean_of(rewriter, variance->value);
  const Node* power = powers ? made_by(rewriter, *powers, Role::kPow) : nullptr;
  if (power == nullptr || power->inputs[0] != d->outputs[0]) return std::nullopt;
  const auto two = number(rewriter, power->inputs[1]);
  const auto mean = mean_of(rewriter, d->inputs[1]);
  if (!two || *two != 2 || !mean || *mean != d->inputs[0]) return std::nullopt;
  return Normalised{*mean, variance->number};
}

void fuse_layer_norm(Rewriter& rewriter, std::size_t index) {
  const Node& add = rewriter.node(index);
  if (!is(add, Role::kAdd)) return;
  const auto product = sides_of(rewriter, add, Role::kMul);
  if (!product) return;
  const auto ratio = sides_of(rewriter, *product->made, Role::kDiv);
  if (!ratio) return;
  const auto found = normalised(rewriter, *ratio->made);
  if (!found) return;
  const TensorType* type = rewriter.type(found->x);
  const TensorType* made = rewriter.type(add.outputs[0]);
  if (made == nullptr || *type != *made || type->shape.elements() == 0) return;
  const std::int64_t length = type->shape[type->shape.rank() - 1];
  if (!is_along(rewriter, ratio->other, length) || !is_along(rewriter, product->other, length)) {
    return;
  }
  kernels::Attributes attributes;
  attributes.set("epsilon", found->epsilon);
  rewriter.replace(index, internal_node(Role::kLayerNormSteps, add,
                                        {found->x, ratio->other, product->other}, attributes));
}

/// divisor where `id` is erf(x / divisor) + 1.
std::optional<float> divisor_of(const Rewriter& rewriter, ValueId id, ValueId x) {
  const Node* sum = made_by(rewriter, id, Role::kAdd);
  const auto above = sum == nullptr ? std::nullopt : with_number(rewriter, *sum, true);
  if (!above || above->number != 1) return std::nullopt;
  const Node* erf = made_by(rewriter, above->value, Role::kErf);
  const Node* div = erf == nullptr ? nullptr : made_by(rewriter, erf->inputs[0], Role::kDiv);
  if (div == nullptr || div->inputs[0] != x) return std::nullopt;
  const auto divisor = with_number(rewriter, *div, false);
  return divisor ? std::optional(divisor->number) : std::nullopt;
}

/// x * (erf(x / divisor) + 1) * 0.5
void fuse_gelu(Rewriter& rewriter, std::size_t index) {
  const Node& last = rewriter.node(index);
  if (!is(last, Role::kMul)) return;
  const auto half = with_number(rewriter, last, true);
  const Node* product =
      half && half->number == 0.5f ? made_by(rewriter, half->value, Role::kMul) : nullptr;
  if (product == nullptr) return;
  for (const std::size_t place : {0, 1}) {
    const ValueId x = product->inputs[place];
    const TensorType *type = rewriter.type(x), *made = rewriter.type(last.outputs[0]);
    const auto divisor = divisor_of(rewriter, product->inputs[1 - place], x);
    const bool fits = type != nullptr && made != nullptr && *type == *made;
    if (!divisor || !fits || type->dtype != DType::kFloat32) continue;
    kernels::Attributes attributes;
    attributes.set("divisor", *divisor);
    rewriter.replace(index, internal_node(Role::kGeluSteps, last, {x}, attributes));
    return;
  }
}

}  // namespace

void fuse_steps(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) {
    fuse_layer_norm(rewriter, i);
    fuse_gelu(rewriter, i);
  }
}

}  // namespace commensal::graph::optimise
