// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/layout.hpp>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/kernels/cpu/blocked/plan.hpp>
#include <commensal/compute/kernels/cpu/blocked/weights.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::graph::optimise {

using kernels::cpu::blocks_of;
using kernels::cpu::ConvWay;
using kernels::cpu::kBlock;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using tensor::TensorType;

bool BlockedLayout::conv(const Node& node) {
  const ValueId x = node.inputs[0];
  if (!is_picture(x) || !is_picture(node.outputs[0])) return false;
  std::vector<const Tensor*> inputs;
  const Tensor picture = tensor::stand_in(*rewriter_.type(x));
  inputs.push_back(&picture);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    inputs.push_back(rewriter_.constant(node.inputs[i]));
    if (node.inputs[i] != kAbsent && inputs.back() == nullptr) return false;
  }
  kernels::Call call;
  call.opset = node.opset;
  call.attributes = &node.attributes;
  call.inputs = inputs;
  const auto plan = kernels::cpu::plan_blocked_conv(call);
  if (!plan) return false;
  // Between plain pictures the copies into blocks and out of them take longer than blocks save.
  const auto way = static_cast<ConvWay>(plan->way);
  // A single plane would fill a sixteenth of its block.
  if (picture.shape()[1] == 1 && inputs[1]->shape()[0] == 1) return false;
  const bool is_light = way == ConvWay::kDirect || way == ConvWay::kDepthwise;
  if (is_light && !is_blocked(x) && rewriter_.is_output(node.outputs[0])) return false;
  const bool from_picture = plan->from_picture && !is_blocked(x);
  std::vector<ValueId> made_of = node.inputs;
  if (!from_picture) made_of[0] = need_blocked(x, node);
  Node made = internal_node(Role::kBlockedConv, node, std::move(made_of), node.attributes);
  made.attributes.set("way", plan->way);
  made.attributes.set("winograd_tile", plan->winograd_tile);
  if (from_picture) made.attributes.set("picture", std::int64_t{1});
  emit_blocked(std::move(made), node);
  return true;
}

bool BlockedLayout::each(const Node& node) {
  const ValueId x = node.inputs[0];
  if (!is_picture(x) || !is_blocked(x) || !others_are_constant(node)) return false;
  Node made = node;
  made.inputs[0] = need_blocked(x, node);
  emit_blocked(std::move(made), node);
  return true;
}

bool BlockedLayout::binary(const Node& node) {
  const ValueId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  if (node.opset < 7 || !is_picture(y)) return false;
  const Shape& shape = rewriter_.type(y)->shape;
  const auto whole = [&](ValueId id) {
    return is_picture(id) && rewriter_.type(id)->shape == shape;
  };
  if (whole(a) && whole(b)) {
    if (!is_blocked(a) && !is_blocked(b)) return false;
    Node made = node;
    made.inputs = {need_blocked(a, node), need_blocked(b, node)};
    emit_blocked(std::move(made), node);
    return true;
  }
  const bool commutes = is(node, Role::kAdd) || is(node, Role::kMul);
  for (const bool swapped : {false, true}) {
    const ValueId x = swapped ? b : a, other = swapped ? a : b;
    if ((swapped && !commutes) || !whole(x) || !is_blocked(x)) continue;
    const auto lanes = per_channel(other, shape, node);
    if (!lanes) continue;
    Node made = internal_node(Role::kBlockedBinary, node, {need_blocked(x, node), *lanes});
    made.attributes.set("role", static_cast<std::int64_t>(node.op->role));
    emit_blocked(std::move(made), node);
    return true;
  }
  return false;
}

bool BlockedLayout::normalise(const Node& node) {
  const ValueId x = node.inputs[0];
  const auto training = node.attributes.integer("training_mode", 0);
  if (!is_picture(x) || !is_blocked(x) || node.outputs.size() != 1 || !others_are_constant(node) ||
      node.opset < 9 || !training || *training != 0) {
    return false;
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (rewriter_.constant(node.inputs[i])->dtype() != DType::kFloat32) return false;
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = need_blocked(x, node);
  emit_blocked(internal_node(Role::kBlockedNormalise, node, std::move(inputs), node.attributes),
               node);
  return true;
}

bool BlockedLayout::pool(const Node& node, Role blocked) {
  const ValueId x = node.inputs[0];
  if (!is_picture(x) || !is_blocked(x) || node.outputs.size() != 1) return false;
  if (!is_picture(node.outputs[0])) return false;
  emit_blocked(internal_node(blocked, node, {need_blocked(x, node)}, node.attributes), node);
  return true;
}

/// The same sum as a GlobalAveragePool's, divided by the same count.
bool BlockedLayout::reduce_mean(const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (!is_picture(x) || !is_blocked(x) || rewriter_.type(y) == nullptr) return false;
  std::vector<std::int64_t> axes;
  if (node.opset < 18) {
    const auto given = node.attributes.integers("axes");
    if (given) axes = *given;
  } else if (node.inputs.size() > 1) {
    axes = rewriter_.integers(node.inputs[1]).value_or(std::vector<std::int64_t>{});
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
  std::ranges::sort(axes);
  if (axes != std::vector<std::int64_t>{2, 3}) return false;
  Node mean = internal_node(Role::kBlockedGlobalAveragePool, node, {need_blocked(x, node)});
  if (is_picture(y)) {
    emit_blocked(std::move(mean), node);
    return true;
  }
  const Shape& shape = rewriter_.type(x)->shape;
  const std::string& name = rewriter_.graph().name_of(y);
  mean.outputs = {rewriter_.add_value(
      name + " (blocked)", {DType::kFloat32, {shape[0], blocks_of(shape[1]), 1, 1, kBlock}})};
  Node plain = internal_node(Role::kFromBlocked, node, mean.outputs);
  plain.attributes.set("channels", shape[1]);
  plain.attributes.set("flat", std::int64_t{1});
  plain.outputs = node.outputs;
  nodes_.push_back(std::move(mean));
  nodes_.push_back(std::move(plain));
  return true;
}

/// To and from [N, H, W, C].
bool BlockedLayout::transpose(const Node& node) {
  using Order = std::vector<std::int64_t>;
  const auto order = node.attributes.integers("perm");
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (!order || !is_picture(x) || !is_picture(y)) return false;
  if (*order == Order{0, 2, 3, 1} && is_blocked(x)) {
    Node made = internal_node(Role::kBlockedToLast, node, {need_blocked(x, node)});
    made.attributes.set("channels", rewriter_.type(x)->shape[1]);
    made.outputs = node.outputs;
    nodes_.push_back(std::move(made));
    return true;
  }
  if (*order != Order{0, 3, 1, 2}) return false;
  need_plain(x);
  emit_blocked(internal_node(Role::kLastToBlocked, node, {x}), node);
  return true;
}

bool BlockedLayout::handle(const Node& node) {
  switch (node.op->role) {
    case Role::kAdd:
    case Role::kDiv:
    case Role::kMul:
    case Role::kSub:
      return binary(node);
    case Role::kClip:
    case Role::kHardSigmoid:
    case Role::kHardSwish:
    case Role::kLeakyRelu:
    case Role::kRelu:
    case Role::kSigmoid:
    case Role::kTanh:
      return each(node);
    case Role::kAveragePool:
      return pool(node, Role::kBlockedAveragePool);
    case Role::kBatchNormalization:
      return normalise(node);
    case Role::kConcat:
      return concat(node);
    case Role::kConv:
      return conv(node);
    case Role::kGlobalAveragePool:
      return pool(node, Role::kBlockedGlobalAveragePool);
    case Role::kMaxPool:
      return pool(node, Role::kBlockedMaxPool);
    case Role::kReduceMean:
      return reduce_mean(node);
    case Role::kReshape:
      return reshape(node);
    case Role::kSlice:
      return slice(node);
    case Role::kTranspose:
      return transpose(node);
    default:
      return false;
  }
}

}  // namespace commensal::graph::optimise
