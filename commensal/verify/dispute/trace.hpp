// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/pacer.hpp>
#include <commensal/compute/graph/tracer.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/verify/arbiter/facts.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <map>
#include <optional>

namespace commensal::dispute {

/// What went into a node, and what came out of it.
struct NodeRun {
  std::vector<tensor::Tensor> inputs;  // undefined: absent
  std::vector<tensor::Tensor> outputs;
};
/// The runs of some nodes that follow each other, in the graph's order.
struct Segment {
  std::size_t first = 0;  // node
  std::vector<NodeRun> runs;
  /// Of run `i`; `threads` hashes.
  arbiter::TraceLeaf leaf(std::size_t i, kernels::ThreadPool& threads) const;
};

/// How long the values of a graph live: what its checkpoints hold.
class Lives {
 public:
  explicit Lives(const graph::Graph& graph);
  /// Whether a node makes it that lies in an earlier segment than one that reads it, or the graph
  /// puts it out.
  bool outlives(graph::ValueId id) const;
  /// Whether nodes before `upto` make it, and one from there on reads it or the graph puts it out.
  bool is_live(graph::ValueId id, std::uint64_t upto) const;
  /// The leaves of the trace, by the facts of all that outlive their segment. Error: kUnsupported
  /// where one would be too large.
  core::Result<std::vector<arbiter::CheckpointLeaf>> leaves(
      const receipt::ModelLeaves& model,
      const std::map<graph::ValueId, arbiter::TensorFacts>& facts) const;

 private:
  struct Life {
    bool is_made = false;
    std::size_t maker = 0, last_reader = 0;  // nodes; behind the last one for the graph's outputs
  };
  const Life& at(graph::ValueId id) const { return lives_[static_cast<std::size_t>(id)]; }

  std::uint64_t nodes_;
  std::vector<Life> lives_;  // by ValueId
};

arbiter::TensorFacts facts_of(const tensor::Tensor& tensor, kernels::ThreadPool& threads);

/// Makes the checkpoints of a run: hashes the values that outlive their segment, as they come.
/// Keeps what was run where that is little. Thread-safety: as Tracer.
class CheckpointRecorder final : public graph::Tracer {
 public:
  /// `kept_bytes_max`: of all values; where they are more none is kept. What is given must outlive
  /// the recorder.
  CheckpointRecorder(const graph::Graph& graph, const receipt::ModelLeaves& model,
                     kernels::ThreadPool& threads, std::int64_t kept_bytes_max);

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override;
  /// The leaves of the trace. Error: kUnsupported where a node did not run once, on tensors of
  /// numbers: graphs with loops, sequences or texts cannot be disputed yet.
  core::Result<std::vector<arbiter::CheckpointLeaf>> take() &&;
  /// All nodes' runs; nothing where they are too large. Precondition: take() had no objection.
  std::optional<Segment> take_runs();
  bool keeps() const { return kept_.has_value(); }

 private:
  void keep(const kernels::Call& call, std::span<const tensor::Tensor> outputs);

  const graph::Graph& graph_;
  const receipt::ModelLeaves& model_;
  kernels::ThreadPool& threads_;
  const Lives lives_;
  std::map<graph::ValueId, arbiter::TensorFacts> facts_;
  std::vector<bool> ran_;  // by node
  std::int64_t kept_bytes_left_;
  std::optional<Segment> kept_;
  std::string objection_;
};

/// Keeps what goes into the nodes of one segment and comes out of them, and stops the run behind
/// them. Thread-safety: as Tracer.
class SegmentCapture final : public graph::Tracer, public core::Pacer {
 public:
  SegmentCapture(const graph::Graph& graph, std::size_t first, std::size_t count)
      : graph_(graph), count_(count), made_{first, {}} {}

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override;
  bool pace(std::int64_t) override { return !is_done(); }

  bool is_done() const { return made_.runs.size() == count_; }
  Segment take() && { return std::move(made_); }

 private:
  const graph::Graph& graph_;
  const std::size_t count_;
  Segment made_;
};

}  // namespace commensal::dispute
