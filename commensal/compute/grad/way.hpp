// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/grad/maker.hpp>
#include <vector>

namespace commensal::grad {

/// Adds the nodes of the gradients of `y`, one floating-point element or the sum of more, by each
/// of `xs`: values of any kind. kAbsent for what does not decide it. Errors as with_gradients().
core::Result<std::vector<ValueId>> add_gradients(Maker& maker, ValueId y,
                                                 const std::vector<ValueId>& xs);

/// How much a sum changes with a value of the graph.
struct Seed {
  ValueId y = kAbsent, dy = kAbsent;
};
/// The same of a sum that changes by `seeds`, through no node before number `first`: `xs`, which
/// are made before it, do not depend on each other.
core::Result<std::vector<ValueId>> add_gradients(Maker& maker, const std::vector<Seed>& seeds,
                                                 const std::vector<ValueId>& xs, std::size_t first);

/// Takes out the nodes from number `first` on that do not lead to `wanted`.
void drop_unread(graph::Graph& graph, std::size_t first, const std::vector<ValueId>& wanted);

}  // namespace commensal::grad
