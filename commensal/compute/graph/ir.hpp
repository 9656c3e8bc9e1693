// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/tensor/value.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commensal::graph {

/// Index into Graph::values; kAbsent for an optional input or output that is not there.
using ValueId = std::int32_t;
inline constexpr ValueId kAbsent = -1;

/// What a tensor may be kept in.
enum class Container { kSequence, kOptional };

/// What a model declares of an input or output. A dimension of -1 is free; `symbols` holds its
/// name, or "". What a subgraph does not declare has an undefined dtype and admits everything.
struct Declared {
  tensor::DType dtype = tensor::DType::kUndefined;
  bool ranked = false;
  std::vector<std::int64_t> dims;
  std::vector<std::string> symbols;
  std::vector<Container> containers = {};  // outermost first; none for a tensor
  /// "float32[N,3,224,224]"
  std::string text() const;
  /// Of a tensor none of whose dimensions is free.
  std::optional<tensor::TensorType> type() const;
  /// Whether `type` fits: same dtype and rank, equal where a dimension is fixed.
  bool admits(const tensor::TensorType& type) const;
  bool admits(const tensor::Value& value) const;
};

struct ValueInfo {
  std::string name;
  Declared declared;  // of graph inputs and outputs; of values in between if the graph was planned
};

struct Graph;

/// A graph that is an attribute of a node. Its inputs are those it declares and then `captures`,
/// the values of the graph around it that it uses.
struct Subgraph {
  std::string name;  // of the attribute
  std::shared_ptr<const Graph> graph;
  std::vector<ValueId> captures;  // of the graph around it
};

struct Node {
  std::string name;  // as in the model, or "<operator>_<index>"
  const kernels::Operator* op = nullptr;
  int opset = 0;  // of the operator's domain
  kernels::Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Subgraph> subgraphs = {};
};

/// A checked model. Invariants (the importer sees to them): nodes are in topological order, every
/// value has one producer (input, initialiser or node), every id is in range.
/// Immutable once imported; shared between sessions.
struct Graph {
  std::string name;
  std::vector<ValueInfo> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;  // without those that have an initialiser
  std::vector<ValueId> outputs;
  std::map<ValueId, tensor::Tensor> initialisers;

  const std::string& name_of(ValueId id) const { return values[static_cast<std::size_t>(id)].name; }
};

}  // namespace commensal::graph
