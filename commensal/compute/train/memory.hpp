// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/train/step.hpp>

/// Rewrites of what grad::with_gradients makes, so that a step takes less memory.
/// Thread-safety: any thread.
namespace commensal::train {

/// Types of the graph's inputs: `inputs`, then the weights, which were initialisers.
std::vector<tensor::TensorType> opened_types(const graph::Graph& gradients,
                                             const std::vector<tensor::TensorType>& inputs);

/// The same values from the same operations: nodes of the way forward (the first `forward` nodes)
/// are there once more, before the first node of the way back that wants what they make.
/// Source: Chen, Xu, Zhang, Guestrin, Training Deep Nets with Sublinear Memory Cost (2016).
/// Error: kInvalidArgument (a name that no node of the way forward makes).
core::Result<std::shared_ptr<const graph::Graph>> recomputed(
    const graph::Graph& gradients, const std::vector<tensor::TensorType>& types,
    std::size_t forward, const Recompute& which);

struct Parts {
  std::vector<tensor::TensorType> batch, part;  // of the inputs before the weights
  std::int64_t count = 1;
  std::string loss;
  std::size_t weights = 0;
};

/// All of the graph for each part in turn. Outputs: the loss, then the gradients, each
/// ((part 1 + part 2) + ...) / count.
core::Result<std::shared_ptr<const graph::Graph>> accumulated(const graph::Graph& gradients,
                                                              const Parts& parts);

}  // namespace commensal::train
