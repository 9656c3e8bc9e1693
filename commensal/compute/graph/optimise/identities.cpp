// SPDX-License-Identifier: Apache-2.0
// Nodes that hand on what they get: Identity, Dropout that drops nothing, Pad by nothing.
#include <algorithm>
#include <commensal/compute/graph/optimise/passes.hpp>

namespace commensal::graph::optimise {

namespace {

/// It trains only where its third input says so. (Before opset 7 an attribute did.)
bool drops_nothing(const Rewriter& rewriter, const Node& node) {
  if (node.opset < 7 || rewriter.type(node.outputs[0]) == nullptr) return false;
  if (node.inputs.size() < 3 || node.inputs[2] == kAbsent) return true;
  const tensor::Tensor* trains = rewriter.constant(node.inputs[2]);
  return trains != nullptr && trains->elements() == 1 && !trains->data<bool>()[0];
}

bool pads_nothing(const Rewriter& rewriter, const Node& node) {
  const tensor::TensorType *from = rewriter.type(node.inputs[0]), *to = rewriter.type(node.outputs[0]);
  const tensor::Tensor* pads = node.inputs.size() < 2 ? nullptr : rewriter.constant(node.inputs[1]);
  if (from == nullptr || to == nullptr || *from != *to || pads == nullptr) return false;
  const auto given = pads->data<std::int64_t>();  // one may be negative
  return std::ranges::all_of(given, [](std::int64_t pad) { return pad == 0; });
}

bool hands_on(const Rewriter& rewriter, const Node& node) {
  if (node.op->domain != "" || node.outputs.size() != 1) return false;
  if (node.op->name == "Identity") return true;
  if (node.op->name == "Dropout") return drops_nothing(rewriter, node);
  return node.op->name == "Pad" && pads_nothing(rewriter, node);
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
