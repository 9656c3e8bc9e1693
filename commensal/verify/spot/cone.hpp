// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <span>

namespace commensal::spot {

struct ConeOptions {
  graph::SessionOptions session = {};  // of nodes that are run in full, and for all memory
  /// A node of which a larger share of the elements is asked for is run in full: its ordinary
  /// kernel makes an element many times faster than `element` does.
  double share_max = 0.25;
};

/// What it took to compute some elements. Operations are those of compute/graph/work.hpp, of nodes
/// whose types are known beforehand.
struct ConeWork {
  std::uint64_t elements = 0;  // computed one by one
  std::size_t nodes_in_part = 0, nodes_in_full = 0;
  std::int64_t ops = 0;
  std::int64_t ops_of_all = 0;  // of a full run
};

/// Elements of one output.
struct Asked {
  std::size_t output = 0;                 // a place in graph.outputs
  std::span<const std::int64_t> indices;  // may repeat
  /// Where the output turns out to be of another type, no element of it is looked at.
  std::optional<tensor::TensorType> claimed = {};
};
struct ConeValues {
  std::vector<kernels::Scalar> values;  // in the order asked for; none where `claimed` is not so
  tensor::TensorType type;              // of the output
};
struct Cones {
  std::vector<ConeValues> outputs;  // in the order asked for
  ConeWork work;
};

/// Computes elements of a graph's outputs from no more than they depend on: their cone of
/// influence, walked from the outputs back by the operator table's `reads`, then forth by
/// `element`, each element of each node once; convolutions and elementwise operators many elements
/// at a time (blocks.hpp, compact.hpp). By the house rule the bits are those of a full run.
/// Nodes whose output types are not known beforehand, or that have no `element`, are run in full,
/// with all that leads to them. `inputs` in the order of graph.inputs.
/// Errors: kInvalidArgument (inputs that the graph refuses, an index out of range),
/// kUnsupported (the output is not a tensor of numbers), kResourceExhausted (memory).
/// Thread-safety: a pure function.
core::Result<Cones> cone_values(const graph::Graph& graph, std::span<const tensor::Tensor> inputs,
                                std::span<const Asked> asked, const ConeOptions& options = {});

/// Whether an operator's shapes, or what its elements read, may depend on the elements of this
/// input: indices, axes, coordinates. Such an input must be there in full before anything is asked
/// of the operator; of the others the elements that `reads` names suffice. Errs on the side of
/// yes. Tests hold it to every row of the table. A pure function.
bool steers(const kernels::Operator& op, int input);

}  // namespace commensal::spot
