// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/differentiate.hpp>
#include <commensal/compute/grad/table.hpp>
#include <commensal/compute/grad/way.hpp>
#include <commensal/compute/graph/place_of.hpp>
#include <set>
#include <span>

namespace commensal::grad {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using graph::Node;
using tensor::TensorType;

namespace {

/// Null: the operator has no gradient.
const GradientRow* row_of(const kernels::Operator& op) {
  if (!op.domain.empty()) return nullptr;
  const auto at = std::ranges::lower_bound(kGradients, op.name, {}, &GradientRow::name);
  return at != std::end(kGradients) && !(op.name < at->name) ? at : nullptr;
}

Result<ValueId> value_named(const Graph& graph, const std::string& name) {
  const auto at = std::ranges::find(graph.values, name, &graph::ValueInfo::name);
  if (at == graph.values.end())
    return fail(ErrorCode::kInvalidArgument, "the graph has no value '{}'", name);
  return static_cast<ValueId>(at - graph.values.begin());
}

bool contains(const std::vector<ValueId>& ids, ValueId id) {
  return std::ranges::find(ids, id) != ids.end();
}

/// Gives the initialisers among the weights to whoever runs the graph.
Result<std::vector<ValueId>> open_weights(Graph& graph, const Wanted& wanted,
                                          std::vector<TensorType>& types) {
  std::vector<ValueId> weights;
  for (const std::string& name : wanted.weights) {
    COMMENSAL_ASSIGN(const ValueId id, value_named(graph, name));
    if (contains(weights, id))
      return fail(ErrorCode::kInvalidArgument, "weight '{}' is named twice", name);
    weights.push_back(id);
    const auto initialiser = graph.initialisers.find(id);
    if (initialiser == graph.initialisers.end()) {
      if (contains(graph.inputs, id)) continue;
      return fail(ErrorCode::kInvalidArgument, "'{}' is neither an initialiser nor an input", name);
    }
    const TensorType type = initialiser->second.type();
    graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    declared = {type.dtype, true, {type.shape.dims().begin(), type.shape.dims().end()}, {}};
    declared.symbols.resize(declared.dims.size());
    graph.initialisers.erase(initialiser);
    graph.inputs.push_back(id);
    types.push_back(type);
  }
  return weights;
}

/// Those of the graphs inside it too.
template <class F>
void for_inputs(const Node& node, const F& f) {
  for (const ValueId id : node.inputs) {
    if (id != kAbsent) f(id);
  }
  for (const graph::Subgraph& inner : node.subgraphs) std::ranges::for_each(inner.captures, f);
}

bool reads_any(const Node& node, const std::vector<bool>& of) {
  bool any = false;
  for_inputs(node, [&](ValueId id) { any = any || of[static_cast<std::size_t>(id)]; });
  return any;
}

/// Which values a weight decides, as far as floats go.
std::vector<bool> active_values(const Maker& maker, const Graph& graph,
                                const std::vector<ValueId>& weights, std::size_t first) {
  std::vector<bool> active(graph.values.size(), false);
  for (const ValueId id : weights) active[static_cast<std::size_t>(id)] = true;
  for (const Node& node : std::span(graph.nodes).subspan(first)) {
    if (!reads_any(node, active)) continue;
    for (const ValueId id : node.outputs) {
      if (id == kAbsent) continue;
      const auto type = maker.known_type(id);
      active[static_cast<std::size_t>(id)] = !type || is_float(type->dtype);
    }
  }
  return active;
}

Result<void> check_types(const Maker& maker, const Node& node) {
  const auto check = [&](ValueId id) -> Result<void> {
    if (id == kAbsent || maker.known_type(id)) return {};
    return fail(ErrorCode::kUnsupported, "the type of '{}' is not known before it runs",
                maker.graph_name(id));
  };
  for (const ValueId id : node.inputs) COMMENSAL_TRY(check(id));
  for (const ValueId id : node.outputs) COMMENSAL_TRY(check(id));
  return {};
}

Result<void> go_back(Maker& maker, std::size_t first, std::size_t nodes, Step::Way& way) {
  for (std::size_t i = nodes; i-- > first;) {
    Step step(maker, i, way);
    const Node& node = step.node();
    const bool is_reached = std::ranges::any_of(
        range(0, static_cast<std::int64_t>(node.outputs.size())), [&](std::int64_t o) {
          const auto output = static_cast<std::size_t>(o);
          return step.has_dy(output) && way.active[static_cast<std::size_t>(node.outputs[output])];
        });
    if (!is_reached || !reads_any(node, way.active)) continue;
    const std::string place = graph::place_of(node);
    const GradientRow* const row = node.subgraphs.empty() ? row_of(*node.op) : nullptr;
    if (row == nullptr) {
      return core::in_context(place, {ErrorCode::kUnsupported, "this operator has no gradient"});
    }
    if (auto known = check_types(maker, node); !known)
      return core::in_context(place, known.error());
    for (std::size_t o = row->outputs; o < node.outputs.size(); ++o) {
      if (!step.has_dy(o)) continue;
      const std::string what = fmt::format("its output {} has no gradient", o);
      return core::in_context(place, {ErrorCode::kUnsupported, what});
    }
    row->rule(step);
    if (const auto state = maker.state(); !state) return core::in_context(place, state.error());
  }
  return {};
}

}  // namespace

void drop_unread(Graph& graph, std::size_t first, const std::vector<ValueId>& wanted) {
  std::vector<bool> is_read(graph.values.size(), false);
  const auto read = [&](ValueId id) { is_read[static_cast<std::size_t>(id)] = true; };
  for (const ValueId id : wanted) {
    if (id != kAbsent) read(id);
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool is_needed = std::ranges::any_of(node.outputs, [&](ValueId id) {
      return id != kAbsent && is_read[static_cast<std::size_t>(id)];
    });
    if (i >= first && !is_needed) {
      node.op = nullptr;
      continue;
    }
    for_inputs(node, read);
  }
  std::erase_if(graph.nodes, [](const Node& node) { return node.op == nullptr; });
}

Result<std::vector<ValueId>> add_gradients(Maker& maker, ValueId y,
                                           const std::vector<ValueId>& xs) {
  return add_gradients(maker, {{y, filled(maker, 1, maker.type(y)).id}}, xs, 0);
}

Result<std::vector<ValueId>> add_gradients(Maker& maker, const std::vector<Seed>& seeds,
                                           const std::vector<ValueId>& xs, std::size_t first) {
  const std::size_t nodes = maker.graph().nodes.size();
  Step::Way way{active_values(maker, maker.graph(), xs, first), {}};
  way.gradients.assign(way.active.size(), kAbsent);
  for (const Seed& seed : seeds) {
    ValueId& so_far = way.gradients[static_cast<std::size_t>(seed.y)];
    so_far = so_far == kAbsent ? seed.dy : (maker.value(so_far) + maker.value(seed.dy)).id;
  }
  COMMENSAL_TRY(go_back(maker, first, nodes, way));
  std::vector<ValueId> made;
  for (const ValueId x : xs) made.push_back(way.gradients[static_cast<std::size_t>(x)]);
  return made;
}

Result<std::shared_ptr<const Graph>> with_gradients(const Graph& graph, const Wanted& wanted) {
  Graph opened = graph;
  std::vector<TensorType> types = wanted.inputs;
  if (types.size() != graph.inputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} input types, expected {}", types.size(),
                graph.inputs.size());
  }
  COMMENSAL_ASSIGN(const auto weights, open_weights(opened, wanted, types));
  COMMENSAL_ASSIGN(const ValueId loss, value_named(opened, wanted.loss));
  COMMENSAL_ASSIGN(auto known, graph::optimise::known_of(opened, types));
  const std::size_t nodes = opened.nodes.size();
  Maker maker(std::move(opened), std::move(known));
  const auto type = maker.known_type(loss);
  if (!type || !is_float(type->dtype) || type->shape.elements() != 1) {
    return fail(ErrorCode::kInvalidArgument,
                "the loss '{}' is {}, expected one floating-point number", wanted.loss,
                type ? type->text() : "of a type that is not known");
  }
  COMMENSAL_ASSIGN(const auto gradients, add_gradients(maker, loss, weights));
  Graph& made = maker.graph();
  if (!contains(made.outputs, loss)) made.outputs.push_back(loss);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!is_float(maker.type(weights[i]).dtype))
      return fail(ErrorCode::kInvalidArgument, "weight '{}' is {}, expected floating-point numbers",
                  wanted.weights[i], maker.type(weights[i]).text());
    if (gradients[i] == kAbsent)
      return fail(ErrorCode::kInvalidArgument, "weight '{}' does not decide the loss '{}'",
                  wanted.weights[i], wanted.loss);
    made.outputs.push_back(gradients[i]);
  }
  drop_unread(made, nodes, made.outputs);
  return std::make_shared<const Graph>(std::move(made));
}

Result<std::vector<std::string>> weights_of(const Graph& graph, const std::string& loss) {
  COMMENSAL_ASSIGN(const ValueId end, value_named(graph, loss));
  std::set<ValueId> decides = {end};
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (std::ranges::none_of(node.outputs, [&](ValueId id) { return decides.contains(id); }))
      continue;
    for_inputs(node, [&](ValueId id) { decides.insert(id); });
  }
  std::vector<std::string> names;
  std::set<ValueId> seen;
  for (const Node& node : graph.nodes) {
    for_inputs(node, [&](ValueId id) {
      const auto initialiser = graph.initialisers.find(id);
      if (initialiser == graph.initialisers.end() || !decides.contains(id)) return;
      if (!is_float(initialiser->second.dtype()) || !seen.insert(id).second) return;
      names.push_back(graph.name_of(id));
    });
  }
  return names;
}

}  // namespace commensal::grad
