// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/pacer.hpp>
#include <commensal/compute/graph/tracer.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/verify/arbiter/facts.hpp>
#include <optional>

namespace commensal::dispute {

/// Hashes of the 1 KiB leaves of `bytes`, on all threads of the pool.
std::vector<core::Digest> leaf_hashes(core::ByteView bytes, kernels::ThreadPool& threads);

/// Makes the trace of a run: the facts of every node's outputs, hashed as they come and not kept.
/// Thread-safety: as Tracer.
class TraceRecorder final : public graph::Tracer {
 public:
  TraceRecorder(const graph::Graph& graph, kernels::ThreadPool& threads)
      : graph_(graph), threads_(threads), leaves_(graph.nodes.size()) {}

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override;
  /// The leaves of all nodes. Error: kUnsupported where a node did not run once, on tensors of
  /// numbers: graphs with loops, sequences or texts cannot be disputed yet.
  core::Result<std::vector<arbiter::TraceLeaf>> take() &&;

 private:
  const graph::Graph& graph_;
  kernels::ThreadPool& threads_;
  std::vector<std::optional<arbiter::TraceLeaf>> leaves_;
  std::string objection_;
};

/// Keeps what goes into one node and comes out of it, and stops the run behind it.
class NodeCapture final : public graph::Tracer, public core::Pacer {
 public:
  NodeCapture(const graph::Graph& graph, std::size_t node) : graph_(graph), node_(node) {}

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override;
  bool pace(std::int64_t) override { return !is_done_; }

  bool is_done() const { return is_done_; }
  const std::vector<tensor::Tensor>& inputs() const { return inputs_; }  // undefined: absent
  const std::vector<tensor::Tensor>& outputs() const { return outputs_; }

 private:
  const graph::Graph& graph_;
  std::size_t node_;
  bool is_done_ = false;
  std::vector<tensor::Tensor> inputs_, outputs_;
};

}  // namespace commensal::dispute
