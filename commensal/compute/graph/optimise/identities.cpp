// SPDX-License-Identifier: Apache-2.0
// Nodes that hand on what they get: Identity, and Dropout that drops nothing.
#include <commensal/compute/graph/optimise/passes.hpp>

namespace commensal::graph::optimise {

namespace {

bool hands_on(const Rewriter& rewriter, const Node& node) {
  if (node.op->domain != "" || node.outputs.size() != 1) return false;
  if (node.op->name == "Identity") return true;
  // It trains only where its third input says so. (Before opset 7 an attribute did.)
  const bool trains = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
  return node.op->name == "Dropout" && node.opset >= 7 && !trains &&
         rewriter.type(node.outputs[0]) != nullptr;
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
