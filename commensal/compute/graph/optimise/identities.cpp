// SPDX-License-Identifier: Apache-2.0
// Nodes that hand on what they get: Identity, Dropout that drops nothing, Pad that adds nothing,
// Slice of everything.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>

namespace commensal::graph::optimise {

namespace {

bool reads(const Node& node, int input) {
  const auto at = static_cast<std::size_t>(input);
  return at < node.inputs.size() && node.inputs[at] != kAbsent;
}

/// It has no NaN but the canonical one: what computes it stores no other.
bool is_canonical(const Rewriter& rewriter, ValueId id) {
  const auto from = rewriter.producer(id);
  if (!from) return false;
  const Node& node = rewriter.node(*from);
  const bool moves = is(node, Role::kReshape) || is(node, Role::kTranspose);
  return moves ? is_canonical(rewriter, node.inputs[0]) : node.op->canonical;
}

/// It trains only where its third input says so. (Before opset 7 an attribute did.) Training with a
/// ratio of 0 it multiplies by 1, which is seen in NaNs only.
bool drops_nothing(const Rewriter& rewriter, const Node& node) {
  if (node.opset < 7) return false;
  if (!reads(node, 2)) return true;
  const tensor::Tensor* trains = rewriter.constant(node.inputs[2]);
  if (trains != nullptr && !trains->data<bool>()[0]) return true;
  const tensor::Tensor* ratio = reads(node, 1) ? rewriter.constant(node.inputs[1]) : nullptr;
  return ratio != nullptr && ratio->dtype() == tensor::DType::kFloat32 &&
         ratio->data<float>()[0] == 0 && is_canonical(rewriter, node.inputs[0]);
}

bool pads_nothing(const Rewriter& rewriter, const Node& node) {
  const tensor::TensorType *from = rewriter.type(node.inputs[0]),
                           *to = rewriter.type(node.outputs[0]);
  const auto pads = node.opset < 11 ? std::nullopt : rewriter.integers(node.inputs[1]);
  return from != nullptr && to != nullptr && pads &&
         std::ranges::all_of(*pads, [](std::int64_t pad) { return pad == 0; });
}

/// All of its input in order: no other slice has as many elements but one that turns them round.
bool cuts_nothing(const Rewriter& rewriter, const Node& node) {
  const tensor::TensorType *from = rewriter.type(node.inputs[0]),
                           *to = rewriter.type(node.outputs[0]);
  if (from == nullptr || to == nullptr || *from != *to || node.opset < 10) return false;
  if (!reads(node, 4)) return true;
  const auto steps = rewriter.integers(node.inputs[4]);
  return steps && std::ranges::all_of(*steps, [](std::int64_t by) { return by > 0; });
}

/// Whether the first output is the first input, and nobody reads another output.
bool hands_on(const Rewriter& rewriter, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] == kAbsent) return false;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kAbsent && rewriter.is_read(node.outputs[i])) return false;
  }
  if (is(node, Role::kIdentity)) return true;
  if (rewriter.type(node.outputs[0]) == nullptr) return false;
  return (is(node, Role::kDropout) && drops_nothing(rewriter, node)) ||
         (is(node, Role::kPad) && pads_nothing(rewriter, node)) ||
         (is(node, Role::kSlice) && cuts_nothing(rewriter, node));
}

}  // namespace

void drop_identities(Rewriter& rewriter) {
  std::vector<ValueId> instead(rewriter.graph().values.size());
  for (std::size_t id = 0; id < instead.size(); ++id) instead[id] = static_cast<ValueId>(id);
  const auto now = [&](ValueId id) {
    return id == kAbsent ? kAbsent : instead[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < rewriter.size(); ++i) {
    Node node = rewriter.node(i);
    for (ValueId& id : node.inputs) id = now(id);
    for (Subgraph& subgraph : node.subgraphs) {
      for (ValueId& id : subgraph.captures) id = now(id);
    }
    const bool skipped = hands_on(rewriter, node) && !rewriter.is_output(node.outputs[0]);
    if (skipped) instead[static_cast<std::size_t>(node.outputs[0])] = node.inputs[0];
    rewriter.replace(i, std::move(node));
  }
}

}  // namespace commensal::graph::optimise
