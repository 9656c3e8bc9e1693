// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/compute/graph/tracer.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/peak.hpp>
#include <string>

namespace commensal::profile {

/// One node in one run.
struct NodeTime {
  std::string name, op;
  std::string output;  // type of its first output
  graph::Work work;
  bool is_plain = false;  // the judge's loops served it
  std::int64_t start_ns = 0, end_ns = 0;
};

struct RunTime {
  std::int64_t start_ns = 0, end_ns = 0;
  std::vector<NodeTime> nodes;  // in the order in which they ran; loops run some several times
};

/// Takes the time of every node, as the optimised graph has them. Thread-safety: as Tracer.
class Profiler final : public graph::Tracer {
 public:
  explicit Profiler(const core::Clock& clock) : clock_(clock) {}

  /// Around each run.
  void begin_run();
  void end_run();
  const std::vector<RunTime>& runs() const { return runs_; }

  bool wants_plain_nodes() const override { return false; }
  void before_node(const graph::Node& node, const kernels::Call& call) override;
  void after_node(const graph::Node&, const kernels::Call&,
                  std::span<const tensor::Tensor>) override;

 private:
  const core::Clock& clock_;
  std::vector<RunTime> runs_;
};

/// A node, or all nodes of an operator, with the median of its times.
struct Row {
  std::string name, op, output;
  int nodes = 1;
  double seconds = 0;
  graph::Work work;
  bool is_plain = false;
};

struct Profile {
  std::vector<Row> by_node;      // in the order of the run
  std::vector<Row> by_operator;  // the longest first; `name` and `output` are empty
  double run_seconds = 0;        // median; more than the nodes' sum
  std::size_t runs = 0;
  kernels::Peak peak;  // zeros: not measured
};

/// Of all runs but the first, which makes some things once. There must be two or more, all of the
/// same nodes.
Profile profile_of(const Profiler& profiler, const kernels::Peak& peak);

/// A table by operator, then one by node.
std::string profile_text(const Profile& profile);
/// Every node of every run, as Chrome's and Perfetto's trace viewers read it. Source: "Trace Event
/// Format", complete events.
std::string trace_json(const Profiler& profiler);

}  // namespace commensal::profile
