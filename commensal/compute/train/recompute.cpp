// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/train/memory.hpp>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using graph::kAbsent;
using graph::Node;
using graph::ValueId;
using tensor::TensorType;

namespace {

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

template <class F>
void for_each_use(const Node& node, const F& f) {
  for (const ValueId id : node.inputs) f(id);
  for (const graph::Subgraph& inner : node.subgraphs) {
    for (const ValueId id : inner.captures) f(id);
  }
}

/// The way forward: which node makes a value, and which is the last to use it.
struct Forward {
  std::vector<std::size_t> maker, last;  // by ValueId; kNone: no node of it
  std::size_t nodes = 0;
  static constexpr std::size_t kNone = ~std::size_t{0};

  Forward(const Graph& graph, std::size_t forward)
      : maker(graph.values.size(), kNone), last(graph.values.size(), kNone), nodes(forward) {
    for (std::size_t i = 0; i < forward; ++i) {
      for_each_use(graph.nodes[i], [&](ValueId id) {
        if (id != kAbsent) last[at(id)] = i;
      });
      for (const ValueId id : graph.nodes[i].outputs) {
        if (id != kAbsent) maker[at(id)] = i;
      }
    }
  }
  bool makes(ValueId id) const { return id != kAbsent && maker[at(id)] != kNone; }
};

/// Where the way forward is cut: about sqrt(nodes) segments that make as many bytes each, cut in
/// the middle half of what each of them may reach, where the fewest bytes cross.
std::vector<std::size_t> cuts_of(const Forward& forward, const std::vector<double>& bytes) {
  std::vector<double> made(forward.nodes + 1, 0), crossing(forward.nodes + 1, 0);
  for (std::size_t id = 0; id < bytes.size(); ++id) {
    if (forward.maker[id] == Forward::kNone) continue;
    made[forward.maker[id] + 1] += bytes[id];
    if (forward.last[id] == Forward::kNone) continue;
    crossing[forward.maker[id] + 1] += bytes[id];  // from the node behind its maker on
    crossing[forward.last[id] + 1] -= bytes[id];
  }
  for (std::size_t i = 1; i <= forward.nodes; ++i) {
    made[i] += made[i - 1];
    crossing[i] += crossing[i - 1];
  }
  const double count = std::max(2.0, std::round(std::sqrt(static_cast<double>(forward.nodes))));
  const double each = made.back() / count;
  std::vector<std::size_t> cuts;
  for (double k = 1; k < count; ++k) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < forward.nodes; ++i) {
      const bool is_near = std::abs(made[i] - k * each) <= each / 4;
      if (is_near && (best == 0 || crossing[i] < crossing[best])) best = i;
    }
    if (best != 0 && (cuts.empty() || cuts.back() < best)) cuts.push_back(best);
  }
  return cuts;
}

/// All but what crosses a cut, and what is made after the last one: it is wanted at once.
std::vector<bool> between_cuts(const Graph& graph, const Forward& forward,
                               const std::vector<std::optional<TensorType>>& types) {
  std::vector<double> bytes(graph.values.size(), 0);
  for (std::size_t id = 0; id < bytes.size(); ++id)
    bytes[id] = types[id] ? static_cast<double>(types[id]->bytes()) : 0;
  const auto cuts = cuts_of(forward, bytes);
  std::vector<bool> made(graph.values.size(), false);
  if (cuts.empty()) return made;
  for (std::size_t id = 0; id < made.size(); ++id) {
    const std::size_t from = forward.maker[id], to = forward.last[id];
    if (from == Forward::kNone || from >= cuts.back()) continue;
    made[id] = std::ranges::none_of(
        cuts, [&](std::size_t cut) { return from < cut && to != Forward::kNone && to >= cut; });
  }
  return made;
}

Result<std::vector<bool>> named(const Graph& graph, const Forward& forward,
                                const std::vector<std::string>& names) {
  std::vector<bool> made(graph.values.size(), false);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(graph.values, name, &graph::ValueInfo::name);
    const auto id = static_cast<ValueId>(found - graph.values.begin());
    if (found == graph.values.end() || !forward.makes(id)) {
      return fail(ErrorCode::kInvalidArgument,
                  "'recompute': no node makes '{}' on the way to the loss", name);
    }
    made[at(id)] = true;
  }
  return made;
}

class Again {
 public:
  Again(const Graph& from, const Forward& forward, std::vector<bool> again)
      : from_(from), forward_(forward), again_(std::move(again)), copies_(again_.size(), kAbsent) {}

  Graph made() {
    Graph made = from_;
    made.nodes.assign(from_.nodes.begin(),
                      from_.nodes.begin() + static_cast<std::ptrdiff_t>(forward_.nodes));
    for (std::size_t i = forward_.nodes; i < from_.nodes.size(); ++i) {
      Node node = from_.nodes[i];
      for_each_use(node, [&](ValueId id) { make(id, made); });
      replace(node);
      made.nodes.push_back(std::move(node));
    }
    return made;
  }

 private:
  bool lacks(ValueId id) const {
    return id != kAbsent && again_[at(id)] && copies_[at(id)] == kAbsent;
  }

  /// With what it is made of, as far as that is let go too, in the order of the way forward.
  void make(ValueId id, Graph& into) {
    if (!lacks(id)) return;
    std::vector<bool> is_wanted(forward_.maker[at(id)] + 1, false);
    is_wanted.back() = true;
    for (std::size_t i = is_wanted.size(); i-- > 0;) {
      if (!is_wanted[i]) continue;
      for_each_use(from_.nodes[i], [&](ValueId input) {
        if (lacks(input)) is_wanted[forward_.maker[at(input)]] = true;
      });
    }
    for (std::size_t i = 0; i < is_wanted.size(); ++i) {
      if (is_wanted[i]) copy(from_.nodes[i], into);
    }
  }

  void copy(const Node& node, Graph& into) {
    Node made = node;
    made.name += ".again";
    replace(made);
    for (ValueId& id : made.outputs) {
      if (id == kAbsent) continue;
      const auto fresh = static_cast<ValueId>(into.values.size());
      into.values.push_back({from_.name_of(id) + ".again", {}});
      if (again_[at(id)]) copies_[at(id)] = fresh;
      id = fresh;
    }
    into.nodes.push_back(std::move(made));
  }

  void replace(Node& node) const {
    const auto each = [&](std::vector<ValueId>& ids) {
      for (ValueId& id : ids) {
        if (id != kAbsent && at(id) < copies_.size() && copies_[at(id)] != kAbsent)
          id = copies_[at(id)];
      }
    };
    each(node.inputs);
    for (graph::Subgraph& inner : node.subgraphs) each(inner.captures);
  }

  const Graph& from_;
  const Forward& forward_;
  const std::vector<bool> again_;
  std::vector<ValueId> copies_;  // by ValueId of from_
};

}  // namespace

Result<std::shared_ptr<const Graph>> recomputed(const Graph& gradients,
                                                const std::vector<TensorType>& types,
                                                std::size_t forward, const Recompute& which) {
  const Forward way(gradients, forward);
  std::vector<bool> again;
  if (which.all) {
    COMMENSAL_ASSIGN(const auto known, graph::optimise::known_of(gradients, types));
    again = between_cuts(gradients, way, known.types);
  } else {
    COMMENSAL_ASSIGN(again, named(gradients, way, which.names));
  }
  return std::make_shared<const Graph>(Again(gradients, way, std::move(again)).made());
}

}  // namespace commensal::train
