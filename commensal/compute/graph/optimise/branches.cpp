// SPDX-License-Identifier: Apache-2.0
// Graphs inside nodes: one whose condition is known takes its node's place, others know what is
// constant around them.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>

namespace commensal::graph::optimise {

namespace {

/// The graph that `node` will run; null where that is not known.
const Subgraph* chosen(const Rewriter& rewriter, const Node& node) {
  if (!is(node, Role::kIf)) return nullptr;
  const tensor::Tensor* condition = rewriter.constant(node.inputs[0]);
  if (condition == nullptr || condition->dtype() != tensor::DType::kBool ||
      condition->elements() != 1) {
    return nullptr;
  }
  const std::string_view name = condition->data<bool>()[0] ? "then_branch" : "else_branch";
  const auto found = std::ranges::find(node.subgraphs, name, &Subgraph::name);
  const bool fits = found != node.subgraphs.end() &&
                    found->graph->inputs.size() == found->captures.size() &&
                    found->graph->outputs.size() == node.outputs.size();
  return fits ? &*found : nullptr;
}

/// The nodes of a branch among those around it.
class Inlined {
 public:
  Inlined(Rewriter& rewriter, const Node& node, const Subgraph& branch)
      : rewriter_(rewriter), node_(node), branch_(branch), ids_(branch.graph->values.size()) {}

  void append_to(std::vector<Node>& nodes) {
    const Graph& graph = *branch_.graph;
    for (std::size_t id = 0; id < ids_.size(); ++id) {
      ids_[id] = rewriter_.add_value(graph.values[id].name);
    }
    for (const auto& [id, constant] : graph.initialisers) {
      now(id) = rewriter_.add_constant(graph.name_of(id), constant);
    }
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      now(graph.inputs[i]) = branch_.captures[i];
    for (Node node : graph.nodes) {
      rename(node.inputs);
      rename(node.outputs);
      for (Subgraph& inner : node.subgraphs) rename(inner.captures);
      nodes.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      if (node_.outputs[i] != kAbsent) nodes.push_back(hands_on(now(graph.outputs[i]), i));
    }
  }

 private:
  ValueId& now(ValueId id) { return ids_[static_cast<std::size_t>(id)]; }
  void rename(std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id != kAbsent) id = now(id);
    }
  }

  Node hands_on(ValueId from, std::size_t output) const {
    constexpr int kOpset = 16;  // takes sequences and optionals too
    Node made;
    made.name = node_.name;
    made.op = &kernels::operator_of(Role::kIdentity, kOpset);
    made.opset = kOpset;
    made.inputs = {from};
    made.outputs = {node_.outputs[output]};
    return made;
  }

  Rewriter& rewriter_;
  const Node& node_;
  const Subgraph& branch_;
  std::vector<ValueId> ids_;  // of the branch's values in the graph around it
};

/// The same graph, of whose captures those that are constant are its own.
Subgraph with_constants(const Rewriter& rewriter, const Subgraph& inner) {
  Graph graph = *inner.graph;
  Subgraph made{inner.name, nullptr, {}};
  const std::size_t declared = graph.inputs.size() - inner.captures.size();
  std::vector<ValueId> inputs(graph.inputs.begin(),
                              graph.inputs.begin() + static_cast<std::ptrdiff_t>(declared));
  for (std::size_t i = 0; i < inner.captures.size(); ++i) {
    const ValueId id = graph.inputs[declared + i];
    if (const tensor::Tensor* constant = rewriter.constant(inner.captures[i])) {
      graph.initialisers.emplace(id, *constant);
    } else {
      inputs.push_back(id);
      made.captures.push_back(inner.captures[i]);
    }
  }
  graph.inputs = std::move(inputs);
  made.graph = std::make_shared<const Graph>(std::move(graph));
  return made;
}

}  // namespace

bool inline_branches(Rewriter& rewriter) {
  bool any = false;
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < rewriter.size(); ++i) {
    const Node node = rewriter.node(i);
    const Subgraph* const branch = chosen(rewriter, node);
    any = any || branch != nullptr;
    if (branch == nullptr) {
      nodes.push_back(node);
    } else {
      Inlined(rewriter, node, *branch).append_to(nodes);
    }
  }
  if (any) rewriter.set_nodes(std::move(nodes));
  return any;
}

void bind_captures(Rewriter& rewriter) {
  for (std::size_t i = 0; i < rewriter.size(); ++i) {
    if (rewriter.node(i).subgraphs.empty()) continue;
    Node node = rewriter.node(i);
    for (Subgraph& inner : node.subgraphs) inner = with_constants(rewriter, inner);
    rewriter.replace(i, std::move(node));
  }
}

}  // namespace commensal::graph::optimise
