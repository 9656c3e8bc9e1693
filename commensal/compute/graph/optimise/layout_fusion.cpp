// SPDX-License-Identifier: Apache-2.0
// What follows a blocked convolution and is done to its sums before they are stored: the addition
// of a residual, then Relu or Clip. Likewise Relu after BatchNormalization.
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <limits>

namespace commensal::graph::optimise {

namespace {

constexpr std::size_t kResidual = 3;

struct Bounds {
  float low, high;
};

/// Of Relu, or of a Clip with constant bounds that keep zeros as they are.
std::optional<Bounds> bounds_of(const Rewriter& rewriter, const Node& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (is(node, Role::kRelu)) return Bounds{0, kInfinity};
  if (!is(node, Role::kClip) || node.opset < 11) return std::nullopt;
  Bounds bounds{-kInfinity, kInfinity};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const tensor::Tensor* given = rewriter.constant(node.inputs[i]);
    if (given == nullptr || given->elements() != 1 || given->dtype() != tensor::DType::kFloat32) {
      return std::nullopt;
    }
    (i == 1 ? bounds.low : bounds.high) = given->data<float>()[0];
  }
  const bool fits = bounds.low <= bounds.high && bounds.high != 0;  // NaN fits nothing
  return fits ? std::optional(bounds) : std::nullopt;
}

void fuse_bounds(Rewriter& rewriter, std::size_t index) {
  const Node& node = rewriter.node(index);
  const auto bounds = bounds_of(rewriter, node);
  if (!bounds) return;
  const auto from = own_producer(rewriter, node.inputs[0]);
  if (!from) return;
  Node fused = rewriter.node(*from);
  const bool normalises = is(fused, Role::kBlockedNormalise) && is(node, Role::kRelu);
  if (!is(fused, Role::kBlockedConv) && !normalises) return;
  if (fused.attributes.has("low") || fused.attributes.has("gate")) return;
  fused.attributes.set("low", bounds->low);
  fused.attributes.set("high", bounds->high);
  fused.outputs = node.outputs;
  rewriter.replace(index, std::move(fused));
}

void fuse_residual(Rewriter& rewriter, std::size_t index) {
  const Node& node = rewriter.node(index);
  if (!is(node, Role::kAdd) || rewriter.type(node.inputs[0]) == nullptr ||
      rewriter.type(node.inputs[1]) == nullptr ||
      *rewriter.type(node.inputs[0]) != *rewriter.type(node.inputs[1])) {
    return;
  }
  // Of two convolutions the later one waits for the other.
  std::optional<std::size_t> conv;
  for (const ValueId id : node.inputs) {
    const auto from = own_producer(rewriter, id);
    if (!from || !is(rewriter.node(*from), Role::kBlockedConv)) continue;
    const Node& made = rewriter.node(*from);
    if (made.attributes.has("low") || made.attributes.has("gate")) continue;
    if (made.inputs.size() > kResidual) continue;
    if (!conv || *from > *conv) conv = from;
  }
  if (!conv) return;
  Node fused = rewriter.node(*conv);
  const ValueId other = node.inputs[fused.outputs[0] == node.inputs[0] ? 1 : 0];
  fused.inputs.resize(kResidual, kAbsent);
  fused.inputs.push_back(other);
  fused.outputs = node.outputs;
  rewriter.replace(index, std::move(fused));
}

/// x * f(x), where x is what a convolution makes and f(x) is used for nothing else.
void fuse_gate(Rewriter& rewriter, std::size_t index) {
  const Node& node = rewriter.node(index);
  if (!is(node, Role::kMul)) return;
  for (const int i : {0, 1}) {
    const ValueId x = node.inputs[static_cast<std::size_t>(i)];
    const auto gate = own_producer(rewriter, node.inputs[static_cast<std::size_t>(1 - i)]);
    const auto from = rewriter.producer(x);
    if (!gate || !from || rewriter.uses(x) != 2) continue;
    const Node& function = rewriter.node(*gate);
    const bool soft = is(function, Role::kSigmoid), hard = is(function, Role::kHardSigmoid);
    if ((!soft && !hard) || function.inputs[0] != x) continue;
    Node fused = rewriter.node(*from);
    if (!is(fused, Role::kBlockedConv) || fused.attributes.has("low")) return;
    const auto alpha = function.attributes.real("alpha", 0.2f);
    const auto beta = function.attributes.real("beta", 0.5f);
    if (!alpha || !beta) return;
    fused.attributes.set("gate", static_cast<std::int64_t>(function.op->role));
    fused.attributes.set("alpha", *alpha);
    fused.attributes.set("beta", *beta);
    fused.outputs = node.outputs;
    return rewriter.replace(index, std::move(fused));
  }
}

}  // namespace

void fuse_blocked_residuals(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) fuse_residual(rewriter, i);
}

void fuse_blocked_gates(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) fuse_gate(rewriter, i);
}

void fuse_blocked_bounds(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) fuse_bounds(rewriter, i);
}

}  // namespace commensal::graph::optimise
