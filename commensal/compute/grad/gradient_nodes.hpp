// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <span>
#include <string>
#include <vector>

namespace commensal::grad {

/// A node Gradient of ai.onnx.preview.training: how much `y` changes with each of `xs`, where the
/// values named by `xs` and `zs` are independent of each other and are `inputs`. Of a `y` of
/// several elements it is their sum that changes.
/// Source: ONNX, docs/Operators.md, Gradient.
struct GradientNode {
  std::string place;   // for messages
  std::size_t at = 0;  // how many nodes of the graph come before it
  std::vector<graph::ValueId> xs, zs;
  graph::ValueId y = graph::kAbsent;
  std::vector<graph::ValueId> inputs;   // for xs, then for zs
  std::vector<graph::ValueId> outputs;  // for xs; kAbsent or fewer: not asked for
};

/// `graph`, in which nothing makes the outputs of `nodes`, with the operators that do: it is an
/// ordinary graph then, for all that run or check one. `nodes` in the order of `at`.
/// Errors, one line, naming the node: kInvalidArgument (not as many inputs as names, values that
/// are no floats), kUnsupported (inputs of the model whose dimensions it does not say: what
/// broadcasting repeats depends on them; an operator without a gradient).
/// Thread-safety: any thread.
core::Result<graph::Graph> with_gradient_nodes(graph::Graph graph,
                                               std::span<const GradientNode> nodes);

}  // namespace commensal::grad
