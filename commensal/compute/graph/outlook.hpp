// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <string>
#include <vector>

namespace commensal::graph {

/// What can be said of runs before there is one, from the types that the model declares. Free
/// dimensions are taken for 1 or, where that is refused, for some larger numbers; elements that
/// shapes depend on are taken for 1 where nothing refuses that.
struct Outlook {
  std::string refusal;  // what every run fails with; empty: nothing is known that would
  std::string doubt;    // what fails, if a run comes to it, in a graph inside a node, or with all
                        // that free dimensions were taken for; likewise
  /// Nodes of fast operators whose types no fast kernel takes on this machine.
  struct Slow {
    std::string node, op;
    std::string types;  // of its first input and output, "float32[8] to float16[8]"
  };
  std::vector<Slow> slow;
  std::int64_t unknown = 0;  // nodes of which that is not known, by their types or size
};

/// Takes a few hundred MiB and a few seconds at most beside what reading the graph takes.
Outlook outlook_of(const Graph& graph);

}  // namespace commensal::graph
