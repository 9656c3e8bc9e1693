// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>

namespace commensal::graph {

/// What errors begin with.
inline std::string place_of(const Node& node) {
  return fmt::format("node '{}' ({})", node.name, node.op->name);
}

}  // namespace commensal::graph
