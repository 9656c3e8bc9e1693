// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <functional>
#include <optional>
#include <vector>

/// What is known of the graphs among a node's attributes before it runs: their inputs' types, and
/// from those of their outputs the node's.
namespace commensal::graph {

/// Null where it is not known.
using TypeOf = std::function<const tensor::TensorType*(ValueId)>;

/// Of the graph's inputs, captures among them: those of every turn, if what is carried from turn to
/// turn keeps its types. None where one is not known.
std::optional<std::vector<tensor::TensorType>> body_inputs(const Node& node,
                                                           const Subgraph& subgraph,
                                                           const TypeOf& type_of);

using Types = std::vector<std::optional<tensor::TensorType>>;
/// Of the node's outputs, where its graphs get `inputs` (each graph's body_inputs()) and return
/// `outputs` (each graph's).
Types outputs_of(const Node& node, const std::vector<std::vector<tensor::TensorType>>& inputs,
                 const std::vector<Types>& outputs);

}  // namespace commensal::graph
