// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/spot/contents.hpp>
#include <commensal/verify/spot/question.hpp>

namespace commensal::spot {

/// The inputs of a node that are opened, in the order in which they are: those that steer first.
inline std::vector<std::size_t> opening_order(const graph::Graph& graph, const graph::Node& node,
                                              const Terms& terms) {
  std::vector<std::size_t> made;
  for (const bool first : {true, false}) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const graph::ValueId id = node.inputs[i];
      if (id == graph::kAbsent || steers(*node.op, static_cast<int>(i)) != first) continue;
      if (terms.holds_weights && graph.initialisers.contains(id)) continue;
      made.push_back(i);
    }
  }
  return made;
}

}  // namespace commensal::spot
