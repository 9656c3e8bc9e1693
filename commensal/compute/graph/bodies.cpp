// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/bodies.hpp>

namespace commensal::graph {

using kernels::Role;
using tensor::DType;
using tensor::TensorType;
using Inputs = std::optional<std::vector<TensorType>>;

namespace {

const TensorType kTurn = {DType::kInt64, {}}, kGoesOn = {DType::kBool, {}};

/// How many of a Scan's inputs are states; none where the node is no valid Scan, or one that has a
/// batch.
std::optional<std::size_t> scan_states(const Node& node) {
  const auto scanned = node.attributes.integer("num_scan_inputs", 0);
  if (node.opset < 9 || !scanned || *scanned < 1) return std::nullopt;
  const auto count = static_cast<std::size_t>(*scanned);
  return count > node.inputs.size() ? std::nullopt : std::optional(node.inputs.size() - count);
}

/// What one step of a Scan gets of its `k`-th scanned input.
std::optional<TensorType> step_of(const Node& node, const TensorType& whole, std::size_t k) {
  const auto axes = node.attributes.integers("scan_input_axes");
  if (!axes || (!axes->empty() && k >= axes->size())) return std::nullopt;
  const auto axis = tensor::normalise_axis(axes->empty() ? 0 : (*axes)[k], whole.shape.rank());
  if (!axis) return std::nullopt;
  std::vector<std::int64_t> dims(whole.shape.dims().begin(), whole.shape.dims().end());
  dims.erase(dims.begin() + *axis);
  const auto shape = tensor::Shape::of(dims);
  return shape ? std::optional(TensorType{whole.dtype, *shape}) : std::nullopt;
}

/// Of the inputs that the graph declares.
Inputs declared_inputs(const Node& node, const TypeOf& type_of) {
  const auto known = [&](std::size_t first) -> Inputs {
    std::vector<TensorType> types;
    for (std::size_t i = first; i < node.inputs.size(); ++i) {
      const TensorType* type = type_of(node.inputs[i]);
      if (type == nullptr) return std::nullopt;
      types.push_back(*type);
    }
    return types;
  };
  switch (node.op->role) {
    case Role::kIf:
      return std::vector<TensorType>();
    case Role::kLoop: {
      Inputs types = known(2);
      if (types) types->insert(types->begin(), {kTurn, kGoesOn});
      return types;
    }
    case Role::kScan: {
      Inputs types = known(0);
      const auto states = scan_states(node);
      if (!types || !states) return std::nullopt;
      for (std::size_t i = *states; i < types->size(); ++i) {
        const auto step = step_of(node, (*types)[i], i - *states);
        if (!step) return std::nullopt;
        (*types)[i] = *step;
      }
      return types;
    }
    default:
      return std::nullopt;
  }
}

/// What is carried: the graph's inputs from `first_input` on are its outputs from `first_output`
/// on, and the node's first ones. Nothing where a turn changes a type.
Types carried(const std::vector<TensorType>& inputs, std::size_t first_input, const Types& outputs,
              std::size_t first_output, std::size_t count) {
  if (inputs.size() < first_input + count || outputs.size() < first_output + count) return {};
  Types made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(outputs[first_output + i]);
    if (made.back() != inputs[first_input + i]) return {};
  }
  return made;
}

}  // namespace

Inputs body_inputs(const Node& node, const Subgraph& subgraph, const TypeOf& type_of) {
  Inputs types = declared_inputs(node, type_of);
  if (!types) return types;
  for (const ValueId id : subgraph.captures) {
    const TensorType* type = type_of(id);
    if (type == nullptr) return std::nullopt;
    types->push_back(*type);
  }
  return types->size() == subgraph.graph->inputs.size() ? types : std::nullopt;
}

Types outputs_of(const Node& node, const std::vector<std::vector<TensorType>>& inputs,
                 const std::vector<Types>& outputs) {
  Types made;
  if (node.op->role == Role::kIf && outputs.size() == 2) {
    made = outputs[0];
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i >= outputs[1].size() || made[i] != outputs[1][i]) made[i].reset();
    }
  }
  if (node.op->role == Role::kLoop && outputs.size() == 1 && node.inputs.size() >= 2) {
    made = carried(inputs[0], 2, outputs[0], 1, node.inputs.size() - 2);
  }
  if (node.op->role == Role::kScan && outputs.size() == 1) {
    made = carried(inputs[0], 0, outputs[0], 0, scan_states(node).value_or(0));
  }
  made.resize(node.outputs.size());
  return made;
}

}  // namespace commensal::graph
