// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/lifetimes.hpp>

namespace commensal::graph {

std::vector<std::vector<ValueId>> last_uses(const Graph& graph) {
  std::vector<bool> kept(graph.values.size(), false);
  for (const auto& [id, value] : graph.initialisers) kept[static_cast<std::size_t>(id)] = true;
  for (const ValueId id : graph.outputs) kept[static_cast<std::size_t>(id)] = true;

  // From the back, the first node that touches a value is the last to use it; one that only makes
  // it (an output that nobody reads) counts too.
  std::vector<std::vector<ValueId>> released(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const auto touch = [&](const std::vector<ValueId>& ids) {
      for (const ValueId id : ids) {
        if (id == kAbsent || kept[static_cast<std::size_t>(id)]) continue;
        kept[static_cast<std::size_t>(id)] = true;
        released[i].push_back(id);
      }
    };
    touch(node.inputs);
    touch(node.outputs);
    for (const Subgraph& subgraph : node.subgraphs) touch(subgraph.captures);
  }
  return released;
}

}  // namespace commensal::graph
