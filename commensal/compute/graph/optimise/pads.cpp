// SPDX-License-Identifier: Apache-2.0
// AveragePool of a picture with zeros around it: the window's own padding, counted.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <numeric>

namespace commensal::graph::optimise {

namespace {

using Integers = std::vector<std::int64_t>;

/// Pads of the spatial dimensions, as the pools have them; none if it pads anything else, or with
/// anything but +0.
std::optional<Integers> spatial_pads(const Rewriter& rewriter, const Node& node) {
  const tensor::TensorType* type = rewriter.type(node.inputs[0]);
  const auto mode = node.attributes.text("mode", "constant");
  if (node.opset < 11 || type == nullptr || type->shape.rank() < 3 || !mode ||
      *mode != "constant") {
    return std::nullopt;
  }
  for (std::size_t i = 2; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const tensor::Tensor* value = rewriter.constant(node.inputs[i]);
    if (i > 2 || value == nullptr) return std::nullopt;
    if (std::ranges::any_of(value->bytes(), [](std::uint8_t b) { return b != 0; })) {
      return std::nullopt;
    }
  }
  const auto given = rewriter.integers(node.inputs[1]);
  const auto rank = static_cast<std::size_t>(type->shape.rank());
  if (!given || given->size() != 2 * rank) return std::nullopt;
  const Integers& pads = *given;
  if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad < 0; })) return std::nullopt;
  if (pads[0] + pads[1] + pads[rank] + pads[rank + 1] != 0) return std::nullopt;
  Integers spatial(pads.begin() + 2, pads.begin() + static_cast<std::ptrdiff_t>(rank));
  spatial.insert(spatial.end(), pads.begin() + static_cast<std::ptrdiff_t>(rank) + 2, pads.end());
  return spatial;
}

bool is_zero(const core::Result<std::int64_t>& value) { return value && *value == 0; }

void absorb(Rewriter& rewriter, std::size_t index) {
  const Node& node = rewriter.node(index);
  if (!is(node, Role::kAveragePool)) return;
  const auto from = rewriter.producer(node.inputs[0]);
  if (!from || !rewriter.only_user(node.inputs[0])) return;
  const Node& pad = rewriter.node(*from);
  if (!is(pad, Role::kPad)) return;
  const auto added = spatial_pads(rewriter, pad);
  const auto own = node.attributes.integers("pads");
  const auto automatic = node.attributes.text("auto_pad", "NOTSET");
  const bool unpadded = own && std::accumulate(own->begin(), own->end(), std::int64_t{0}) == 0;
  if (!added || !unpadded || !automatic || *automatic != "NOTSET" || node.opset < 7 ||
      !is_zero(node.attributes.integer("ceil_mode", 0))) {
    return;
  }
  Node fused = node;
  fused.inputs[0] = pad.inputs[0];
  fused.attributes.set("pads", *added);
  fused.attributes.set("count_include_pad", std::int64_t{1});
  rewriter.replace(index, std::move(fused));
}

}  // namespace

void absorb_pads(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) absorb(rewriter, i);
}

}  // namespace commensal::graph::optimise
