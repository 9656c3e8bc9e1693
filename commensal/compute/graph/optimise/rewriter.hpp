// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::graph::optimise {

/// A graph being rewritten: what passes ask of it and do to it. Nodes stay in topological order:
/// a node is replaced where the last of those that it stands for was, and what nobody reads any
/// more goes when the pass is over.
class Rewriter {
 public:
  Rewriter(const Graph& graph, Known known);

  std::size_t size() const { return graph_.nodes.size(); }
  const Node& node(std::size_t index) const { return graph_.nodes[index]; }
  const Graph& graph() const { return graph_; }

  /// Null where it is not known.
  const tensor::TensorType* type(ValueId id) const;
  const tensor::Tensor* constant(ValueId id) const;
  /// Of a constant list of int64 or int32, or of one number.
  std::optional<std::vector<std::int64_t>> integers(ValueId id) const;
  /// The node that makes `id`, if it is a node.
  std::optional<std::size_t> producer(ValueId id) const;
  /// The node that alone reads `id`, once; none if there are more, or the graph's outputs or a
  /// subgraph have it.
  std::optional<std::size_t> only_user(ValueId id) const;
  /// How often nodes read it; many where the graph's outputs or a subgraph have it.
  int uses(ValueId id) const { return uses_of(id).count; }
  bool is_output(ValueId id) const;
  /// Whether a node, a subgraph or the graph's outputs read it.
  bool is_read(ValueId id) const { return uses(id) > 0; }

  /// Without a type that is known yet.
  ValueId add_value(std::string name);
  ValueId add_value(std::string name, const tensor::TensorType& type);
  ValueId add_constant(std::string name, tensor::Tensor value);
  void replace(std::size_t index, Node node) { graph_.nodes[index] = std::move(node); }
  /// All nodes anew, in topological order.
  void set_nodes(std::vector<Node> nodes) { graph_.nodes = std::move(nodes); }
  /// After each pass: drops nodes and constants that nobody reads, and finds the users anew.
  void sweep();

  /// The graph, in which all values of known types declare them, and no others any.
  Graph take() &&;

 private:
  void drop_dead_nodes();
  void drop_unread_constants();
  void index();

  struct Uses {
    std::optional<std::size_t> producer;
    std::size_t user = 0;  // the last
    int count = 0;
  };
  static constexpr int kMany = 1000;
  /// No uses of kAbsent.
  const Uses& uses_of(ValueId id) const;

  Graph graph_;
  std::vector<std::optional<tensor::TensorType>> types_;
  std::vector<Uses> uses_;  // by ValueId
};

}  // namespace commensal::graph::optimise
