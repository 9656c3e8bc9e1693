// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// Reverse mode, from graph to graph: what it makes is of operators that the table has, so that
/// whatever runs, audits or disputes a graph does so with gradients too.
/// Source: Griewank, Walther, Evaluating Derivatives (2008), chapter 3.
namespace commensal::grad {

struct Wanted {
  std::vector<tensor::TensorType> inputs;  // of graph.inputs, in order
  std::string loss;                        // a value of one floating-point element
  std::vector<std::string> weights;        // floating-point initialisers or inputs
};

/// The graph for inputs of just these types that makes the gradients too. Its inputs are those of
/// `graph`, then the weights that were initialisers, as `wanted` has them; its outputs those of
/// `graph`, then the loss where it is none of them, then the gradients as `wanted` has the weights.
/// A value that is used several times gets the sum of what its users give, the last user first;
/// what was broadcast is summed by ReduceSum.
/// Errors, one line: kInvalidArgument (no such value, not a float, not one element; a weight that
/// does not decide the loss; inputs that a node refuses), kUnsupported (the operator without a
/// gradient, by name).
/// Thread-safety: any thread.
core::Result<std::shared_ptr<const graph::Graph>> with_gradients(const graph::Graph& graph,
                                                                 const Wanted& wanted);

/// The names of the initialisers of floats that decide `loss`, in the order in which they are used.
core::Result<std::vector<std::string>> weights_of(const graph::Graph& graph,
                                                  const std::string& loss);

}  // namespace commensal::grad
