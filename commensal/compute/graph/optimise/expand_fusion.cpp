// SPDX-License-Identifier: Apache-2.0
// A blocked convolution 1x1 and the depthwise one that alone reads it, where what lies in between
// is too large for a cache.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <commensal/compute/kernels/cpu/blocked/weights.hpp>
#include <commensal/compute/kernels/internal.hpp>

namespace commensal::graph::optimise {

using kernels::cpu::ConvWay;

namespace {

constexpr std::int64_t kLargeBytes = 512 << 10;
constexpr std::size_t kBias = 2, kResidual = 3;

bool is_conv(const Node& node, ConvWay way) {
  const auto found = node.attributes.integer("way", -1);
  return is_internal(node, "BlockedConv") && found && *found == static_cast<std::int64_t>(way) &&
         node.inputs.size() <= kResidual;
}

bool all_are(const Node& node, std::string_view name, std::int64_t value) {
  const auto list = node.attributes.integers(name);
  return list && std::ranges::all_of(*list, [&](std::int64_t v) { return v == value; });
}

/// 1x1 with stride 1, on a blocked picture, unpadded.
bool is_pointwise(const Rewriter& rewriter, const Node& node) {
  if (!is_conv(node, ConvWay::kDirect)) return false;
  const tensor::Tensor* w = rewriter.constant(node.inputs[1]);
  const auto automatic = node.attributes.text("auto_pad", "NOTSET");
  return !node.attributes.has("picture") && w != nullptr && w->shape()[2] == 1 &&
         w->shape()[3] == 1 && all_are(node, "strides", 1) && all_are(node, "pads", 0) &&
         automatic && *automatic == "NOTSET";
}

void fuse(Rewriter& rewriter, std::size_t index) {
  const Node& second = rewriter.node(index);
  if (!is_conv(second, ConvWay::kDepthwise) || !all_are(second, "dilations", 1)) return;
  const ValueId between = second.inputs[0];
  const auto from = own_producer(rewriter, between);
  if (!from || !is_pointwise(rewriter, rewriter.node(*from))) return;
  const tensor::TensorType* type = rewriter.type(between);
  if (type == nullptr || type->bytes() / type->shape[0] < kLargeBytes) return;
  const Node& first = rewriter.node(*from);
  const auto bias_of = [](const Node& node) {
    return node.inputs.size() > kBias ? node.inputs[kBias] : kAbsent;
  };
  Node fused = second;
  fused.op = &kernels::internal_operator("BlockedExpand");
  fused.inputs = {first.inputs[0], first.inputs[1], bias_of(first), second.inputs[1],
                  bias_of(second)};
  for (const char* name : {"low", "high", "gate", "alpha", "beta"}) {
    const auto found = first.attributes.all().find(name);
    if (found != first.attributes.all().end()) {
      fused.attributes.set(std::string("first_") + name, found->second);
    }
  }
  rewriter.replace(index, std::move(fused));
}

}  // namespace

void fuse_expansions(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) fuse(rewriter, i);
}

}  // namespace commensal::graph::optimise
