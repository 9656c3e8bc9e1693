// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <functional>
#include <memory>
#include <vector>

namespace commensal::noise {

// Which tensors of a graph noise is added to. Pure functions of the graph (and of the element types
// in it); docs/verification.md, "Noise", has the rule:
//  1. the floating inputs that a feed fills, or all floating inputs where the job has no feeds;
//     the tensor id is the input's place in Graph::inputs;
//  2. where that is none: the first value, along the nodes and each node's outputs, that is
//     floating and depends on an input; its tensor id is kInnerTensor.

inline constexpr std::uint32_t kInnerTensor = 0xffffffff;

/// By rule 1, ascending places in graph.inputs; empty where rule 2 applies.
std::vector<std::uint32_t> noisy_inputs(const graph::Graph& graph,
                                        const std::vector<protocol::Feed>& feeds);

/// By rule 2; kAbsent where there is none. `dtype_of` tells a node's output's element type;
/// kUndefined for what is no tensor.
graph::ValueId inner_target(const graph::Graph& graph,
                            const std::function<tensor::DType(graph::ValueId)>& dtype_of);

/// A graph cut at one value: `before` has its inputs and computes the value, `after` has its
/// inputs and then the value, and computes its outputs. Nodes that neither needs are left out.
struct Cut {
  std::shared_ptr<const graph::Graph> before;
  std::shared_ptr<const graph::Graph> after;
};
Cut cut_at(const graph::Graph& graph, graph::ValueId value, tensor::DType dtype);

/// That feeds name outputs and inputs of the graph whose declared types fit each other.
/// Error: kInvalidArgument, naming output and input.
core::Result<void> check_feeds(const graph::Graph& graph, const std::vector<protocol::Feed>& feeds);

}  // namespace commensal::noise
