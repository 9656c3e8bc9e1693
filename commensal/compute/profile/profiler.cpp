// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/graph/inner_name.hpp>
#include <commensal/compute/profile/profiler.hpp>

namespace commensal::profile {
namespace {

double seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle
                                : (*std::max_element(values.begin(), middle) + *middle) / 2;
}

/// Whether work_of() counts what it computes: of other folds it says how long they are, of the
/// rest how many elements there are.
bool counts(const kernels::Operator& op) {
  return op.kind == kernels::Kind::kDotProduct &&
         (op.cost != nullptr || op.judge->steps != nullptr);
}

/// As `types` has them; if it has not, they are put there.
bool same_types(std::vector<tensor::TensorType>& types, const kernels::Call& call) {
  bool same = types.size() == call.inputs.size() + call.outputs.size();
  types.resize(call.inputs.size() + call.outputs.size());
  const auto compare = [&](std::size_t i, const tensor::TensorType& type) {
    if (types[i] == type) return;
    types[i] = type;
    same = false;
  };
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    compare(i, call.inputs[i] == nullptr ? tensor::TensorType() : call.inputs[i]->type());
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    compare(call.inputs.size() + i, call.outputs[i]);
  }
  return same;
}

std::vector<Row> rows_of(const Profiler& profiler) {
  std::vector<Row> rows;
  for (const NodeTimes& node : profiler.nodes()) {
    std::vector<double> times;
    for (std::size_t run = 1; run < profiler.runs().size(); ++run) {
      times.push_back(run < node.runs.size() ? seconds(node.runs[run].ns) : 0);
    }
    const NodeTimes::Sum& last = node.runs.back();
    if (node.runs.size() < 2 || last.turns == 0) continue;  // of the first run alone
    const std::string others = node.varies ? " and others" : "";
    rows.push_back({node.name, node.op, node.output + others, 1, last.turns,
                    median(std::move(times)), last.ops, last.bytes, node.is_plain});
  }
  return rows;
}

std::vector<Row> summed(const std::vector<Row>& nodes) {
  std::map<std::string, Row> by_name;
  for (const Row& node : nodes) {
    Row& sum =
        by_name.try_emplace(node.op, Row{"", node.op, "", 0, 0, 0, 0, 0, false}).first->second;
    ++sum.nodes;
    sum.turns += node.turns;
    sum.seconds += node.seconds;
    sum.is_plain = sum.is_plain || node.is_plain;
    sum.ops += node.ops;
    sum.bytes += node.bytes;
  }
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater(), &Row::seconds);
  return rows;
}

}  // namespace

void Profiler::begin_run() {
  RunTime& run = runs_.emplace_back();
  run.start_ns = clock_.monotonic_ns();
}

void Profiler::end_run() { runs_.back().end_ns = clock_.monotonic_ns(); }

void Profiler::enter(const graph::Node& node, const graph::Subgraph& graph) {
  const std::int64_t began_ns = clock_.monotonic_ns();
  const std::size_t outer = places_.back();
  auto& inner = all_places_[outer].inner;
  const auto found = inner.find(Place::View(node.name, graph.name));
  if (found != inner.end()) {
    places_.push_back(found->second);
  } else {
    inner.emplace(Place::Key(node.name, graph.name), all_places_.size());
    places_.push_back(all_places_.size());
    const std::string name = graph::inner_name(all_places_[outer].prefix, node.name);
    all_places_.push_back({graph::inner_name(name, fmt::format("/{}/", graph.name)), {}, {}});
  }
  runs_.back().own_ns += clock_.monotonic_ns() - began_ns;
}

std::size_t Profiler::find(const graph::Node& node, const kernels::Call& call) {
  Place& place = all_places_[places_.back()];
  const auto found = place.nodes.find(Place::View(node.name, node.op->name));
  if (found != place.nodes.end()) return found->second;
  place.nodes.emplace(Place::Key(node.name, node.op->name), nodes_.size());
  NodeTimes& made = nodes_.emplace_back();
  made.name = graph::inner_name(place.prefix, node.name);
  made.op = node.op->name;
  made.output = call.outputs.empty() ? "" : call.outputs.front().text();
  made.counts = counts(*node.op);
  last_.emplace_back();
  return nodes_.size() - 1;
}

void Profiler::look_at(std::size_t index, const graph::Node& node, const kernels::Call& call) {
  Last& last = last_[index];
  const bool is_first = last.types.empty();
  if (same_types(last.types, call)) return;
  last.work = graph::work_of(*node.op, call);
  if (call.outputs.empty()) return;
  if (!is_first && last.output != call.outputs.front()) nodes_[index].varies = true;
  last.output = call.outputs.front();
}

void Profiler::before_node(const graph::Node& node, const kernels::Call& call) {
  const std::int64_t began_ns = clock_.monotonic_ns();
  current_.node = find(node, call);
  look_at(current_.node, node, call);
  current_.start_ns = clock_.monotonic_ns();
  runs_.back().own_ns += current_.start_ns - began_ns;
}

void Profiler::after_node(const graph::Node& node, const kernels::Call& call,
                          std::span<const tensor::Tensor>) {
  current_.end_ns = clock_.monotonic_ns();
  NodeTimes& times = nodes_[current_.node];
  times.is_plain = times.is_plain || (call.is_judged && node.op->kind != kernels::Kind::kConstant);
  times.runs.resize(runs_.size());
  NodeTimes::Sum& sum = times.runs.back();
  const graph::Work& work = last_[current_.node].work;
  ++sum.turns;
  sum.ns += current_.end_ns - current_.start_ns;
  sum.ops += times.counts ? static_cast<double>(work.ops) : 0;
  sum.bytes += static_cast<double>(work.bytes);
  if (turns_.size() < kTurnsMax) {
    turns_.push_back(current_);
  } else {
    ++turns_left_out_;
  }
  runs_.back().own_ns += clock_.monotonic_ns() - current_.end_ns;
}

Profile profile_of(const Profiler& profiler, const kernels::Peak& peak) {
  core::check(profiler.runs().size() >= 2, "a run beside the first one");
  std::vector<double> times, own, between;
  for (std::size_t i = 1; i < profiler.runs().size(); ++i) {
    const RunTime& run = profiler.runs()[i];
    const std::int64_t run_ns = run.end_ns - run.start_ns - run.own_ns;
    std::int64_t nodes_ns = 0;
    for (const NodeTimes& node : profiler.nodes()) {
      if (i < node.runs.size()) nodes_ns += node.runs[i].ns;
    }
    times.push_back(seconds(run_ns));
    own.push_back(seconds(run.own_ns));
    between.push_back(seconds(run_ns - nodes_ns));
  }
  Profile profile{.by_node = rows_of(profiler), .runs = times.size(), .peak = peak};
  profile.run_seconds = median(std::move(times));
  profile.own_seconds = median(std::move(own));
  profile.between_seconds = median(std::move(between));
  profile.by_operator = summed(profile.by_node);
  return profile;
}

}  // namespace commensal::profile
