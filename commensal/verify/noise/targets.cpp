// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/noise/targets.hpp>
#include <unordered_set>

namespace commensal::noise {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using Values = std::unordered_set<ValueId>;

const graph::Declared& declared(const Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].declared;
}

bool any_of(const Node& node, const Values& values) {
  const auto there = [&](ValueId id) { return values.contains(id); };
  return std::ranges::any_of(node.inputs, there) ||
         std::ranges::any_of(node.subgraphs, [&](const graph::Subgraph& subgraph) {
           return std::ranges::any_of(subgraph.captures, there);
         });
}

/// Drops the nodes that `graph.outputs` do not need.
void keep_live(Graph& graph) {
  Values needed(graph.outputs.begin(), graph.outputs.end());
  std::vector<Node> live;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, [&](ValueId id) { return needed.contains(id); })) {
      continue;
    }
    needed.insert(node->inputs.begin(), node->inputs.end());
    for (const graph::Subgraph& subgraph : node->subgraphs) {
      needed.insert(subgraph.captures.begin(), subgraph.captures.end());
    }
    live.push_back(std::move(*node));
  }
  std::ranges::reverse(live);
  graph.nodes = std::move(live);
}

}  // namespace

std::vector<std::uint32_t> noisy_inputs(const Graph& graph,
                                        const std::vector<protocol::Feed>& feeds) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t place = 0; place < graph.inputs.size(); ++place) {
    const graph::Declared& type = declared(graph, graph.inputs[place]);
    const bool is_fed =
        std::ranges::any_of(feeds, [&](const protocol::Feed& feed) { return feed.input == place; });
    if ((is_fed || feeds.empty()) && type.containers.empty() && is_disturbable(type.dtype)) {
      places.push_back(place);
    }
  }
  return places;
}

ValueId inner_target(const Graph& graph, const std::function<tensor::DType(ValueId)>& dtype_of) {
  Values dependent(graph.inputs.begin(), graph.inputs.end());
  for (const Node& node : graph.nodes) {
    if (!any_of(node, dependent)) continue;
    for (const ValueId id : node.outputs) {
      if (id == graph::kAbsent) continue;
      if (is_disturbable(dtype_of(id))) return id;
      dependent.insert(id);
    }
  }
  return graph::kAbsent;
}

Cut cut_at(const Graph& graph, ValueId value, tensor::DType dtype) {
  auto before = std::make_shared<Graph>(graph);
  before->outputs = {value};
  keep_live(*before);

  auto after = std::make_shared<Graph>(graph);
  const auto unused = static_cast<ValueId>(after->values.size());
  after->values.push_back({});
  bool is_made = false;
  for (Node& node : after->nodes) {
    for (ValueId& id : node.outputs) {
      if (id != value) continue;
      id = unused;
      is_made = true;
    }
  }
  core::check(is_made, "a graph is cut at what a node makes");
  graph::Declared type;
  type.dtype = dtype;
  after->values[static_cast<std::size_t>(value)].declared = type;
  after->inputs.push_back(value);
  keep_live(*after);
  return {std::move(before), std::move(after)};
}

core::Result<void> check_feeds(const Graph& graph, const std::vector<protocol::Feed>& feeds) {
  for (const protocol::Feed& feed : feeds) {
    if (feed.output >= graph.outputs.size() || feed.input >= graph.inputs.size()) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "a feed from output {} to input {} of a model with {} outputs, {} inputs",
                        feed.output, feed.input, graph.outputs.size(), graph.inputs.size());
    }
    const ValueId from = graph.outputs[feed.output], to = graph.inputs[feed.input];
    const graph::Declared &made = declared(graph, from), &wanted = declared(graph, to);
    const bool is_ranked = made.ranked && wanted.ranked;
    bool fits = made.containers == wanted.containers && made.dtype == wanted.dtype &&
                (!is_ranked || made.dims.size() == wanted.dims.size());
    for (std::size_t i = 0; fits && is_ranked && i < made.dims.size(); ++i) {
      fits = made.dims[i] < 0 || wanted.dims[i] < 0 || made.dims[i] == wanted.dims[i];
    }
    if (fits) continue;
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "output '{}' is {} and cannot be input '{}', which is {}",
                      graph.name_of(from), made.text(), graph.name_of(to), wanted.text());
  }
  return {};
}

}  // namespace commensal::noise
