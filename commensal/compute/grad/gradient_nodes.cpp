// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/gradient_nodes.hpp>
#include <commensal/compute/grad/way.hpp>
#include <iterator>

namespace commensal::grad {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using graph::Node;
using tensor::TensorType;

namespace {

/// Of all inputs, as they are declared.
Result<std::vector<TensorType>> declared_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const ValueId id : graph.inputs) {
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    const auto type = declared.type();
    if (!type) {
      return fail(ErrorCode::kUnsupported,
                  "input '{}' is {}, expected a tensor of fixed dimensions", graph.name_of(id),
                  declared.text());
    }
    types.push_back(*type);
  }
  return types;
}

std::vector<ValueId> named_by(const GradientNode& node) {
  std::vector<ValueId> all = node.xs;
  all.insert(all.end(), node.zs.begin(), node.zs.end());
  return all;
}

/// Whether the graph as it stands is the function that is meant: nothing else is put in the places
/// of its values, and none of them decides another.
bool is_in_place(const Graph& graph, const GradientNode& node) {
  std::vector<bool> is_named(graph.values.size(), false);
  for (const ValueId id : named_by(node)) is_named[static_cast<std::size_t>(id)] = true;
  return std::ranges::equal(named_by(node), node.inputs) &&
         std::ranges::none_of(graph.nodes, [&](const Node& maker) {
           return std::ranges::any_of(maker.outputs, [&](ValueId made) {
             return made != kAbsent && is_named[static_cast<std::size_t>(made)];
           });
         });
}

/// The nodes that lead from the named values to y once more, from other values.
class Copy {
 public:
  Copy(Maker& maker, const GradientNode& node) : maker_(maker) {
    const std::vector<ValueId> named = named_by(node);
    now_.resize(maker.graph().values.size(), kAbsent);
    for (std::size_t i = 0; i < named.size(); ++i) {
      // A value of its own, though two names be given one.
      const ValueId own = apply("Identity", maker.value(node.inputs[i])).id;
      now_[static_cast<std::size_t>(named[i])] = own;
      if (i < node.xs.size()) xs_.push_back(own);
    }
    const std::vector<bool> leads = leading_to(node.y);
    const std::size_t nodes = leads.size();
    for (std::size_t i = 0; i < nodes; ++i) {
      if (leads[i] && maker.state()) add(maker.graph().nodes[i]);
    }
    const ValueId y = now_[static_cast<std::size_t>(node.y)];
    y_ = y == kAbsent ? node.y : y;
  }
  const std::vector<ValueId>& xs() const { return xs_; }
  ValueId y() const { return y_; }

 private:
  /// By node; those added for this copy have nothing of it.
  std::vector<bool> leading_to(ValueId y) const {
    const Graph& graph = maker_.graph();
    std::vector<bool> leads(graph.nodes.size()), wanted(graph.values.size());
    wanted[static_cast<std::size_t>(y)] = true;
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      for (const ValueId id : graph.nodes[i].outputs) {
        const bool is_named = id != kAbsent && static_cast<std::size_t>(id) < now_.size() &&
                              now_[static_cast<std::size_t>(id)] != kAbsent;
        if (id != kAbsent && !is_named && wanted[static_cast<std::size_t>(id)]) leads[i] = true;
      }
      if (!leads[i]) continue;
      for (const ValueId id : graph.nodes[i].inputs) {
        if (id != kAbsent) wanted[static_cast<std::size_t>(id)] = true;
      }
      for (const graph::Subgraph& inner : graph.nodes[i].subgraphs) {
        for (const ValueId id : inner.captures) wanted[static_cast<std::size_t>(id)] = true;
      }
    }
    return leads;
  }

  void add(Node node) {
    bool is_new = false;
    const auto replace = [&](ValueId& id) {
      if (id == kAbsent || static_cast<std::size_t>(id) >= now_.size()) return;
      const ValueId now = now_[static_cast<std::size_t>(id)];
      if (now == kAbsent) return;
      id = now;
      is_new = true;
    };
    std::ranges::for_each(node.inputs, replace);
    for (graph::Subgraph& inner : node.subgraphs) std::ranges::for_each(inner.captures, replace);
    if (!is_new) return;  // no named value decides it
    const std::vector<ValueId> before = node.outputs;
    const std::vector<Value> made = maker_.add_node(std::move(node));
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool is_named =
          before[i] != kAbsent && now_[static_cast<std::size_t>(before[i])] != kAbsent;
      if (before[i] != kAbsent && !is_named) now_[static_cast<std::size_t>(before[i])] = made[i].id;
    }
  }

  Maker& maker_;
  std::vector<ValueId> now_;  // by ValueId
  std::vector<ValueId> xs_;
  ValueId y_ = kAbsent;
};

Result<void> check_float(const Maker& maker, ValueId id) {
  const auto type = maker.known_type(id);
  if (type && is_float(type->dtype)) return {};
  return fail(type ? ErrorCode::kInvalidArgument : ErrorCode::kUnsupported,
              "'{}' is {}, expected floating-point numbers", maker.graph_name(id),
              type ? type->text() : "of a type that is not known before it runs");
}

/// `room`: what is left of what all of a model may add, and then what is left of it.
Result<Graph> with_gradient_node(Graph graph, const GradientNode& node, Room& room) {
  if (node.xs.empty() || node.inputs.size() != node.xs.size() + node.zs.size() ||
      node.outputs.size() > node.xs.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "{} inputs and {} outputs, expected {} for its xs and zs, and {} for its xs",
                node.inputs.size(), node.outputs.size(), node.xs.size() + node.zs.size(),
                node.xs.size());
  }
  if (std::ranges::find(node.inputs, kAbsent) != node.inputs.end())
    return fail(ErrorCode::kInvalidArgument, "an input is missing");
  COMMENSAL_ASSIGN(const auto types, declared_types(graph));
  COMMENSAL_ASSIGN(auto known, graph::optimise::known_of(graph, types));
  const bool in_place = is_in_place(graph, node);
  const std::size_t before = graph.nodes.size();
  Maker maker(std::move(graph), std::move(known), room);
  std::vector<ValueId> xs = node.xs;
  ValueId y = node.y;
  if (!in_place) {
    const Copy copy(maker, node);
    COMMENSAL_TRY(maker.state());
    xs = copy.xs();
    y = copy.y();
  }
  for (const ValueId id : xs) COMMENSAL_TRY(check_float(maker, id));
  COMMENSAL_TRY(check_float(maker, y));
  COMMENSAL_ASSIGN(const auto gradients, add_gradients(maker, y, xs));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kAbsent) continue;
    const Value made =
        gradients[i] == kAbsent ? filled(maker, 0, maker.type(xs[i])) : maker.value(gradients[i]);
    apply("Identity", made);
    COMMENSAL_TRY(maker.state());
    maker.graph().nodes.back().outputs = {node.outputs[i]};  // as the model calls it
  }
  COMMENSAL_TRY(maker.state());
  room = maker.room();
  drop_unread(maker.graph(), before, node.outputs);
  return std::move(maker.graph());
}

}  // namespace

Result<Graph> with_gradient_nodes(Graph graph, std::span<const GradientNode> nodes) {
  std::vector<Node> rest = std::move(graph.nodes);
  graph.nodes.clear();
  auto next = rest.begin();
  Room room{limits::kImportedGradientValuesMax, limits::kImportedGradientConstantBytesMax};
  std::int64_t reads = 0;
  for (const GradientNode& node : nodes) {
    const auto here = rest.begin() + static_cast<std::ptrdiff_t>(node.at);
    std::move(next, here, std::back_inserter(graph.nodes));
    next = here;
    reads += static_cast<std::int64_t>(graph.nodes.size() + graph.values.size());
    if (reads > limits::kImportedGradientReadsMax) {
      return core::in_context(
          node.place,
          {ErrorCode::kResourceExhausted, "Gradients before it are too many for a graph so large"});
    }
    auto made = with_gradient_node(std::move(graph), node, room);
    if (!made) return core::in_context(node.place, made.error());
    graph = *std::move(made);
  }
  std::move(next, rest.end(), std::back_inserter(graph.nodes));
  if (graph.nodes.size() > static_cast<std::size_t>(limits::kGraphNodesMax)) {
    return fail(ErrorCode::kResourceExhausted, "{} nodes, with those of its gradients, limit {}",
                graph.nodes.size(), limits::kGraphNodesMax);
  }
  return graph;
}

}  // namespace commensal::grad
