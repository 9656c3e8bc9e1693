// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/profile/profiler.hpp>
#include <map>

namespace commensal::profile {
namespace {

double seconds(std::int64_t start_ns, std::int64_t end_ns) {
  return 1e-9 * static_cast<double>(end_ns - start_ns);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool computes(const kernels::Operator& op) {
  return op.kind != kernels::Kind::kMovement && op.kind != kernels::Kind::kConstant;
}

std::vector<Row> rows_of(std::span<const RunTime> runs) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < runs.front().nodes.size(); ++i) {
    std::vector<double> times;
    for (const RunTime& run : runs) {
      core::check(run.nodes.size() == runs.front().nodes.size(), "runs of the same nodes");
      times.push_back(seconds(run.nodes[i].start_ns, run.nodes[i].end_ns));
    }
    const NodeTime& node = runs.front().nodes[i];
    rows.push_back(
        {node.name, node.op, node.output, 1, median(std::move(times)), node.work, node.is_plain});
  }
  return rows;
}

std::vector<Row> summed(const std::vector<Row>& nodes) {
  std::map<std::string, Row> by_name;
  for (const Row& node : nodes) {
    Row& sum =
        by_name.try_emplace(node.op, Row{"", node.op, "", 0, 0, {}, node.is_plain}).first->second;
    ++sum.nodes;
    sum.seconds += node.seconds;
    sum.is_plain = sum.is_plain || node.is_plain;
    sum.work.ops += node.work.ops;
    sum.work.bytes += node.work.bytes;
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

void Profiler::before_node(const graph::Node& node, const kernels::Call& call) {
  NodeTime& time = runs_.back().nodes.emplace_back();
  time.name = node.name;
  time.op = node.op->name;
  time.output = call.outputs.empty() ? "" : call.outputs.front().text();
  time.work = graph::work_of(*node.op, call);
  if (!computes(*node.op)) time.work.ops = 0;
  time.start_ns = clock_.monotonic_ns();
}

void Profiler::after_node(const graph::Node& node, const kernels::Call& call,
                          std::span<const tensor::Tensor>) {
  NodeTime& time = runs_.back().nodes.back();
  time.end_ns = clock_.monotonic_ns();
  time.is_plain = call.is_judged && node.op->kind != kernels::Kind::kConstant;
}

Profile profile_of(const Profiler& profiler, const kernels::Peak& peak) {
  core::check(profiler.runs().size() >= 2, "a run beside the first one");
  const auto runs = std::span(profiler.runs()).subspan(1);
  std::vector<double> times;
  for (const RunTime& run : runs) times.push_back(seconds(run.start_ns, run.end_ns));
  Profile profile{rows_of(runs), {}, median(std::move(times)), runs.size(), peak};
  profile.by_operator = summed(profile.by_node);
  return profile;
}

}  // namespace commensal::profile
