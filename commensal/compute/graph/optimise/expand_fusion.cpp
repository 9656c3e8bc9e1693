// SPDX-License-Identifier: Apache-2.0
// A blocked convolution, 1x1 or of a picture of few channels, and the depthwise one that alone
// reads it, where what lies in between is too large for a cache.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <commensal/compute/kernels/cpu/blocked/weights.hpp>

namespace commensal::graph::optimise {

using kernels::cpu::ConvWay;

namespace {

constexpr std::int64_t kLargeBytes = 512 << 10;
constexpr std::size_t kBias = 2, kResidual = 3;

bool is_conv(const Node& node, ConvWay way) {
  const auto found = node.attributes.integer("way", -1);
  return is(node, Role::kBlockedConv) && found && *found == static_cast<std::int64_t>(way) &&
         node.inputs.size() <= kResidual;
}

bool all_are(const Node& node, std::string_view name, std::int64_t value) {
  const auto list = node.attributes.integers(name);
  return list && std::ranges::all_of(*list, [&](std::int64_t v) { return v == value; });
}

/// Rows of it cost little to compute again: 1x1 with stride 1, unpadded, or few channels.
bool is_cheap(const Rewriter& rewriter, const Node& node) {
  if (!is_conv(node, ConvWay::kDirect)) return false;
  if (node.attributes.has("picture")) return true;
  const tensor::Tensor* w = rewriter.constant(node.inputs[1]);
  const auto automatic = node.attributes.text("auto_pad", "NOTSET");
  return w != nullptr && w->shape()[2] == 1 && w->shape()[3] == 1 && all_are(node, "strides", 1) &&
         all_are(node, "pads", 0) && automatic && *automatic == "NOTSET";
}

void fuse(Rewriter& rewriter, std::size_t index) {
  const Node& second = rewriter.node(index);
  if (!is_conv(second, ConvWay::kDepthwise) || !all_are(second, "dilations", 1)) return;
  const ValueId between = second.inputs[0];
  const auto from = own_producer(rewriter, between);
  if (!from || !is_cheap(rewriter, rewriter.node(*from))) return;
  const tensor::TensorType* type = rewriter.type(between);
  if (type == nullptr || type->bytes() / type->shape[0] < kLargeBytes) return;
  const Node& first = rewriter.node(*from);
  const auto bias_of = [](const Node& node) {
    return node.inputs.size() > kBias ? node.inputs[kBias] : kAbsent;
  };
  Node fused = second;
  fused.op = internal_operator(Role::kBlockedExpand);
  fused.inputs = {first.inputs[0], first.inputs[1], second.inputs[1], bias_of(first),
                  bias_of(second)};
  for (const auto& [name, value] : first.attributes.all()) {
    fused.attributes.set("first_" + name, value);
  }
  rewriter.replace(index, std::move(fused));
}

}  // namespace

void fuse_expansions(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) fuse(rewriter, i);
}

}  // namespace commensal::graph::optimise
