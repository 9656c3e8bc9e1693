// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/compute/graph/tracer.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/peak.hpp>
#include <map>
#include <string>
#include <string_view>

namespace commensal::profile {

/// One node, however often it runs; those of a graph that share name and operator are one.
struct NodeTimes {
  /// Behind the nodes whose graphs it is in and their attributes: "loop_1/body/add_3".
  std::string name;
  std::string op;
  std::string output;     // type of its first output when it first ran
  bool varies = false;    // that it had others later
  bool is_plain = false;  // the judge's loops served it
  bool counts = false;    // `ops` are operations of arithmetic
  /// In one run, summed over its turns.
  struct Sum {
    std::int64_t turns = 0, ns = 0;
    double ops = 0, bytes = 0;
  };
  std::vector<Sum> runs;  // by run; those behind the last that it ran in are left out
};

struct RunTime {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t own_ns = 0;  // the profiler's own, as far as it sees it
};

/// A node's turn, of the first that there were.
struct Turn {
  std::size_t node = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};
inline constexpr std::size_t kTurnsMax = std::size_t{1} << 17;

/// Takes the time of every node, as the optimised graph has them, in runs of one session on inputs
/// of the same types. Its memory is bounded by the graph. Thread-safety: as Tracer.
class Profiler final : public graph::Tracer {
 public:
  explicit Profiler(const core::Clock& clock) : clock_(clock) {}

  /// Around each run.
  void begin_run();
  void end_run();
  const std::vector<RunTime>& runs() const { return runs_; }
  /// In the order in which they first ran.
  const std::vector<NodeTimes>& nodes() const { return nodes_; }
  const std::vector<Turn>& turns() const { return turns_; }
  std::int64_t turns_left_out() const { return turns_left_out_; }

  bool wants_plain_nodes() const override { return false; }
  bool keeps_tensors() const override { return false; }
  void enter(const graph::Node& node, const graph::Subgraph& graph) override;
  void leave() override { places_.pop_back(); }
  void before_node(const graph::Node& node, const kernels::Call& call) override;
  void after_node(const graph::Node&, const kernels::Call&,
                  std::span<const tensor::Tensor>) override;

 private:
  /// A graph among a node's attributes. What it has is looked up by names and operators: a graph
  /// may be planned anew within a run, its nodes where others were.
  struct Place {
    using Key = std::pair<std::string, std::string>;
    using View = std::pair<std::string_view, std::string_view>;
    struct Before {
      using is_transparent = void;
      bool operator()(const auto& a, const auto& b) const { return View(a) < View(b); }
    };
    using Indices = std::map<Key, std::size_t, Before>;
    std::string prefix;
    Indices nodes;  // by name and operator
    Indices inner;  // by the node's name and the attribute's
  };
  /// What a node had to do when it last ran.
  struct Last {
    std::vector<tensor::TensorType> types;  // of inputs and outputs
    tensor::TensorType output;              // of the first
    graph::Work work;
  };

  std::size_t find(const graph::Node& node, const kernels::Call& call);
  void look_at(std::size_t index, const graph::Node& node, const kernels::Call& call);

  const core::Clock& clock_;
  std::vector<RunTime> runs_;
  std::vector<NodeTimes> nodes_;
  std::vector<Last> last_;  // of nodes_
  std::vector<Turn> turns_;
  std::int64_t turns_left_out_ = 0;
  std::vector<Place> all_places_ = std::vector<Place>(1);
  std::vector<std::size_t> places_ = {0};  // those that run, the outermost first
  Turn current_;
};

/// A node, or all nodes of an operator: medians over the runs of what it takes in one.
struct Row {
  std::string name, op, output;
  int nodes = 1;
  std::int64_t turns = 1;
  double seconds = 0;
  double ops = 0;  // 0: not counted
  double bytes = 0;
  bool is_plain = false;
};

struct Profile {
  std::vector<Row> by_node;      // in the order of the run
  std::vector<Row> by_operator;  // the longest first; `name` and `output` are empty
  double run_seconds = 0;        // median, less own_seconds; more than the nodes' sum
  double own_seconds = 0;        // the profiler's
  double between_seconds = 0;    // outside nodes: median of each run's
  std::size_t runs = 0;
  kernels::Peak peak;  // zeros: not measured
};

/// Of all runs but the first, which makes some things once. There must be two or more.
Profile profile_of(const Profiler& profiler, const kernels::Peak& peak);

/// A table by operator, then one by node.
std::string profile_text(const Profile& profile);
/// Every run and the first turns of nodes, as Chrome's and Perfetto's trace viewers read it.
/// Source: "Trace Event Format", complete events.
struct Trace {
  std::string json;
  std::int64_t turns = 0, left_out = 0;
};
Trace trace_of(const Profiler& profiler, std::size_t bytes_max = std::size_t{64} << 20);

}  // namespace commensal::profile
