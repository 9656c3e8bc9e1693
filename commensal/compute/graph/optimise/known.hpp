// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <optional>
#include <span>
#include <vector>

namespace commensal::graph::optimise {

/// What is known of a graph's values once the types of its inputs are: the types of others, and
/// the elements of those that depend on types and constants alone (shapes that a model computes
/// for itself, folded constants).
struct Known {
  std::vector<std::optional<tensor::TensorType>> types;  // by ValueId
  std::map<ValueId, tensor::Tensor> constants;           // initialisers among them
};

/// Infers, node by node, and runs in ref/ what has only known elements for inputs, as long as a
/// result is no larger than a few MiB. None if a node refuses its inputs: then the run must say so.
/// `inputs` in the order of graph.inputs.
std::optional<Known> known_of(const Graph& graph, std::span<const tensor::TensorType> inputs,
                              const kernels::ThreadPool* host = nullptr);

/// `ops_left`: what all that is run may take, less what it took.
std::optional<Known> known_of(const Graph& graph, std::span<const tensor::TensorType> inputs,
                              const kernels::ThreadPool* host, std::int64_t& ops_left);

}  // namespace commensal::graph::optimise
