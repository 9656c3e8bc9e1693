// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/pacer.hpp>
#include <commensal/compute/graph/tracer.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/verify/arbiter/facts.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <optional>

namespace commensal::dispute {

/// Makes the checkpoints of a run: hashes the values that outlive their segment, as they come, and
/// keeps none. Thread-safety: as Tracer.
class CheckpointRecorder final : public graph::Tracer {
 public:
  /// What is given must outlive the recorder.
  CheckpointRecorder(const graph::Graph& graph, const receipt::ModelLeaves& model,
                     kernels::ThreadPool& threads);

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override;
  /// The leaves of the trace. Error: kUnsupported where a node did not run once, on tensors of
  /// numbers: graphs with loops, sequences or texts cannot be disputed yet.
  core::Result<std::vector<arbiter::CheckpointLeaf>> take() &&;

 private:
  struct Live {
    std::size_t maker = 0, last_reader = 0;  // nodes; behind the last one for the graph's outputs
    std::optional<arbiter::TensorFacts> facts;
  };
  bool outlives(const Live& value) const;

  const graph::Graph& graph_;
  const receipt::ModelLeaves& model_;
  kernels::ThreadPool& threads_;
  std::vector<Live> values_;  // by ValueId
  std::vector<bool> ran_;     // by node
  std::string objection_;
};

/// Keeps what goes into the nodes of one segment and comes out of them, hashes the latter, and
/// stops the run behind them. Thread-safety: as Tracer.
class SegmentCapture final : public graph::Tracer, public core::Pacer {
 public:
  SegmentCapture(const graph::Graph& graph, std::size_t segment, kernels::ThreadPool& threads);

  struct NodeRun {
    std::vector<tensor::Tensor> inputs;  // undefined: absent
    std::vector<tensor::Tensor> outputs;
    arbiter::TraceLeaf leaf;
  };

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override;
  bool pace(std::int64_t) override { return !is_done(); }

  bool is_done() const { return runs_.size() == count_; }
  std::size_t first() const { return first_; }
  /// In the graph's order, from node first() on.
  const std::vector<NodeRun>& runs() const { return runs_; }

 private:
  const graph::Graph& graph_;
  kernels::ThreadPool& threads_;
  std::size_t first_, count_;
  std::vector<NodeRun> runs_;
};

}  // namespace commensal::dispute
