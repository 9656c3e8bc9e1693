// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_graphs.hpp>
#include <commensal/compute/graph/bodies.hpp>
#include <span>
#include <vector>

namespace commensal::graph::optimise {

/// What is known of a graph's values once the types of its inputs are: the types of others, and
/// the elements of those that depend on types and constants alone (shapes that a model computes
/// for itself, folded constants).
struct Known {
  std::vector<std::optional<tensor::TensorType>> types;  // by ValueId
  std::map<ValueId, tensor::Tensor> constants;           // initialisers among them
  std::optional<core::Error> unsupported;  // of guess_of: the first node that takes no such types
};

/// What all that is computed ahead may still take. Of bytes no value takes more than a quarter of
/// what is left: there is always room for a few more that are small, as shapes are.
struct FoldBudget {
  std::int64_t ops = limits::kFoldedOpsMax;
  std::int64_t bytes = limits::kFoldedTotalBytesMax;

  static FoldBudget of(const Graph& graph);
};

/// Infers, node by node, and runs in ref/ what has only known elements for inputs, as long as a
/// result is no larger than a few MiB and as FoldBudget::of lasts. `inputs` in the order of
/// graph.inputs.
/// Errors: what the first node says that refuses its inputs, as a run would say it;
/// kResourceExhausted (no room to ask a node).
core::Result<Known> known_of(const Graph& graph, std::span<const tensor::TensorType> inputs,
                             const kernels::ThreadPool* host = nullptr);

/// Takes what it took from `budget`.
core::Result<Known> known_of(const Graph& graph, std::span<const tensor::TensorType> inputs,
                             const kernels::ThreadPool* host, FoldBudget& budget);

/// Where the types of some inputs are not known; nor is what it takes too long to infer.
/// `elements`: of inputs whose elements are.
core::Result<Known> known_of(const Graph& graph, const Types& inputs, FoldBudget& budget,
                             const std::map<ValueId, tensor::Tensor>& elements = {});

/// Of one run that might be: elements that types depend on and nobody knows are taken for ones,
/// and what a node makes of them is known but where it refuses them. No errors.
core::Result<Known> guess_of(const Graph& graph, const Types& inputs, FoldBudget& budget,
                             const std::map<ValueId, tensor::Tensor>& elements = {});

}  // namespace commensal::graph::optimise
