// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/known.hpp>
#include <memory>
#include <span>

/// A graph rewritten for speed. Not one bit of any output changes: what is fused does the same
/// operations in the same order, what is folded was computed by ref/.
namespace commensal::graph::optimise {

/// The graph for inputs of just these types, in the order of graph.inputs; it has the same inputs
/// and outputs, and internal operators among its own. Null if a node refuses its
/// inputs, so that nothing can be planned: the graph as it is will say why.
/// Takes what it took from `budget`.
std::shared_ptr<const Graph> optimised(const Graph& graph,
                                       std::span<const tensor::TensorType> inputs,
                                       const kernels::ThreadPool* host, FoldBudget& budget);

std::shared_ptr<const Graph> optimised(const Graph& graph,
                                       std::span<const tensor::TensorType> inputs,
                                       const kernels::ThreadPool* host = nullptr);

}  // namespace commensal::graph::optimise
