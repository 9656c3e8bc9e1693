// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <span>

namespace commensal::spot {

struct ConeOptions {
  std::int64_t memory_bytes_max = limits::kMemoryBytesDefault;
  int threads = 1;  // of nodes that are run in full
  /// A node of which a larger share of the elements is asked for is run in full: its ordinary
  /// kernel makes an element many times faster than `element` does.
  double share_max = 0.25;
};

/// What it took to compute some elements.
struct ConeWork {
  std::uint64_t elements = 0;  // computed one by one
  std::size_t nodes_in_part = 0, nodes_in_full = 0;
};

struct ConeValues {
  std::vector<kernels::Scalar> values;  // of the elements, in the order asked for
  tensor::TensorType type;              // of the output
  ConeWork work;
};

/// Computes elements of one output of a graph from no more than they depend on: their cone of
/// influence, walked from the output back by the operator table's `reads`, then forth by
/// `element`, each element of each node once. By the house rule the bits are those of a full run.
/// Nodes whose output types are not known beforehand, or that have no `element`, are run in full,
/// with all that leads to them.
/// `inputs` in the order of graph.inputs; `output` is a place in graph.outputs. Indices may repeat.
/// Errors: kInvalidArgument (inputs that the graph refuses, an index out of range),
/// kUnsupported (the output is not a tensor of numbers), kResourceExhausted (memory).
/// Thread-safety: a pure function.
core::Result<ConeValues> cone_values(const graph::Graph& graph,
                                     std::span<const tensor::Tensor> inputs, std::size_t output,
                                     std::span<const std::int64_t> indices,
                                     const ConeOptions& options = {});

/// Whether an operator's shapes, or what its elements read, may depend on the elements of this
/// input: indices, axes, coordinates. Such an input must be there in full before anything is asked
/// of the operator; of the others the elements that `reads` names suffice. Errs on the side of
/// yes. Tests hold it to every row of the table. A pure function.
bool steers(const kernels::Operator& op, int input);

}  // namespace commensal::spot
