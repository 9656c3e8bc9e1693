// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <string>
#include <vector>

namespace commensal::graph {

/// What can be said of runs before there is one, from the types that the model declares.
struct Outlook {
  std::string refusal;  // what every run fails with; empty: nothing is known that would
  /// Nodes of fast operators whose types no fast kernel takes on this machine, those of graphs
  /// inside nodes left out.
  struct Slow {
    std::string node, op;
    std::string types;  // of its first input and output, "float32[8] to float16[8]"
  };
  std::vector<Slow> slow;
};

Outlook outlook_of(const Graph& graph);

}  // namespace commensal::graph
