// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <vector>

namespace commensal::graph {

/// For each node, the values that no later node reads and that are not outputs of the graph: they
/// are released once it has run. Initialisers are never released.
std::vector<std::vector<ValueId>> last_uses(const Graph& graph);

}  // namespace commensal::graph
