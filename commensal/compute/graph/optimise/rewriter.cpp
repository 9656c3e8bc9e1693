// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/rewriter.hpp>

namespace commensal::graph::optimise {

using tensor::Tensor;
using tensor::TensorType;

Rewriter::Rewriter(const Graph& graph, Known known)
    : graph_(graph), types_(std::move(known.types)) {
  graph_.initialisers = std::move(known.constants);
  // What is constant needs no node; an output of the graph may be constant too.
  std::erase_if(graph_.nodes, [&](const Node& node) {
    return !node.outputs.empty() && std::ranges::all_of(node.outputs, [&](ValueId id) {
      return id == kAbsent || graph_.initialisers.contains(id);
    });
  });
  sweep();
}

const TensorType* Rewriter::type(ValueId id) const {
  if (id == kAbsent) return nullptr;
  const auto& known = types_[static_cast<std::size_t>(id)];
  return known ? &*known : nullptr;
}

const Tensor* Rewriter::constant(ValueId id) const {
  const auto found = graph_.initialisers.find(id);
  return found == graph_.initialisers.end() ? nullptr : &found->second;
}

std::optional<std::vector<std::int64_t>> Rewriter::integers(ValueId id) const {
  const Tensor* list = constant(id);
  if (list == nullptr || list->elements() > limits::kNodeInputsMax) return std::nullopt;
  const auto values = [&]<class T>() {
    return std::vector<std::int64_t>(list->data<T>().begin(), list->data<T>().end());
  };
  if (list->dtype() == tensor::DType::kInt64) return values.template operator()<std::int64_t>();
  if (list->dtype() == tensor::DType::kInt32) return values.template operator()<std::int32_t>();
  return std::nullopt;
}

const Rewriter::Uses& Rewriter::uses_of(ValueId id) const {
  static constexpr Uses kNone;
  return id == kAbsent ? kNone : uses_[static_cast<std::size_t>(id)];
}

std::optional<std::size_t> Rewriter::producer(ValueId id) const { return uses_of(id).producer; }

std::optional<std::size_t> Rewriter::only_user(ValueId id) const {
  const Uses& uses = uses_of(id);
  return uses.count == 1 ? std::optional(uses.user) : std::nullopt;
}

bool Rewriter::is_output(ValueId id) const {
  return std::ranges::find(graph_.outputs, id) != graph_.outputs.end();
}

ValueId Rewriter::add_value(std::string name) {
  graph_.values.push_back({std::move(name), {}});
  types_.emplace_back();
  uses_.emplace_back();
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId Rewriter::add_value(std::string name, const TensorType& type) {
  const ValueId id = add_value(std::move(name));
  types_.back() = type;
  return id;
}

ValueId Rewriter::add_constant(std::string name, Tensor value) {
  const ValueId id = add_value(std::move(name), value.type());
  graph_.initialisers.emplace(id, std::move(value));
  return id;
}

Graph Rewriter::take() && {
  for (std::size_t i = 0; i < types_.size(); ++i) {
    Declared& declared = graph_.values[i].declared;
    declared = {};  // what a model says of its outputs may be wrong
    if (!types_[i]) continue;
    declared.dtype = types_[i]->dtype;
    declared.ranked = true;
    declared.dims.assign(types_[i]->shape.dims().begin(), types_[i]->shape.dims().end());
    declared.symbols.resize(declared.dims.size());
  }
  return std::move(graph_);
}

void Rewriter::sweep() {
  drop_dead_nodes();
  drop_unread_constants();
  index();
}

void Rewriter::drop_dead_nodes() {
  std::vector<bool> read(graph_.values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kAbsent) read[static_cast<std::size_t>(id)] = true;
    }
  };
  mark(graph_.outputs);
  std::vector<Node> kept;
  for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
    Node& node = graph_.nodes[i];
    const bool wanted = std::ranges::any_of(node.outputs, [&](ValueId id) {
      return id != kAbsent && read[static_cast<std::size_t>(id)];
    });
    if (!wanted) continue;
    mark(node.inputs);
    for (const Subgraph& subgraph : node.subgraphs) mark(subgraph.captures);
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  graph_.nodes = std::move(kept);
}

void Rewriter::drop_unread_constants() {
  std::vector<bool> read(graph_.values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kAbsent) read[static_cast<std::size_t>(id)] = true;
    }
  };
  mark(graph_.outputs);
  for (const Node& node : graph_.nodes) {
    mark(node.inputs);
    for (const Subgraph& subgraph : node.subgraphs) mark(subgraph.captures);
  }
  std::erase_if(graph_.initialisers,
                [&](const auto& entry) { return !read[static_cast<std::size_t>(entry.first)]; });
}

void Rewriter::index() {
  uses_.assign(graph_.values.size(), {});
  const auto use = [&](ValueId id, std::size_t user, int count) {
    if (id == kAbsent) return;
    Uses& uses = uses_[static_cast<std::size_t>(id)];
    uses.user = user;
    uses.count += count;
  };
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    for (const ValueId id : node.inputs) use(id, i, 1);
    for (const Subgraph& subgraph : node.subgraphs) {
      for (const ValueId id : subgraph.captures) use(id, i, kMany);
    }
    for (const ValueId id : node.outputs) {
      if (id != kAbsent) uses_[static_cast<std::size_t>(id)].producer = i;
    }
  }
  for (const ValueId id : graph_.outputs) use(id, 0, kMany);
}

}  // namespace commensal::graph::optimise
