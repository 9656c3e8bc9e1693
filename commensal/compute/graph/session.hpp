// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/graph/prepared.hpp>
#include <commensal/compute/graph/run_options.hpp>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace commensal::graph {

enum class Backend { kRef, kCpu };

struct SessionOptions {
  Backend backend = Backend::kCpu;                 // falls back to ref/ without AVX2 or NEON
  std::optional<kernels::Isa> isa = std::nullopt;  // default: the best that the machine has
  int threads = 1;
  std::int64_t memory_bytes_max = limits::kMemoryBytesDefault;
  std::int64_t node_runs_max = limits::kNodeRunsMax;  // of one run: loops in loops end here
  /// Where packed weights are kept for other processes; null: nowhere.
  std::shared_ptr<const PackFolder> packs = nullptr;
  core::Pacer* pacer = nullptr;  // of runs that are given none; outlives the session
  std::stop_token cancel = {};   // of what makes a session ready; runs have one of their own
  bool optimise = true;  // of the cpu back end: plans graphs for their inputs; changes no bit
};

/// A graph made ready to run: constants packed, threads started.
/// Thread-safety: one run() at a time per session.
class Session {
 public:
  /// Errors: kUnsupported (the isa is not there), kInvalidArgument (threads), kCancelled.
  static core::Result<Session> create(std::shared_ptr<const Graph> graph,
                                      const SessionOptions& options);
  /// A session more of a model that another one has prepared: weights are packed once. The back
  /// end and instruction set of `options` are not looked at.
  static core::Result<Session> create(std::shared_ptr<Prepared> prepared,
                                      const SessionOptions& options);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const Graph& graph() const;
  /// To be shared with other sessions.
  const std::shared_ptr<Prepared>& prepared() const;
  /// Of runs that are given none; may be null.
  core::Pacer* pacer() const;

  /// `inputs` in the order of graph().inputs; returns outputs in the order of graph().outputs.
  /// Errors: kInvalidArgument (naming input or node and what was expected), kResourceExhausted
  /// (memory, turns of loops), kCancelled, kOverBudget, kUnavailable (the pacer said stop),
  /// kUnsupported (an output is not a tensor).
  core::Result<std::vector<tensor::Tensor>> run(std::span<const tensor::Tensor> inputs,
                                                const RunOptions& options = {});
  /// The same for graphs whose inputs or outputs are sequences or optionals too.
  core::Result<std::vector<tensor::Value>> run_values(std::span<const tensor::Value> inputs,
                                                      const RunOptions& options = {});
  /// The same as run(), of another graph over this model's weights, in this session's memory and on
  /// its threads.
  core::Result<std::vector<tensor::Tensor>> run_other(Prepared& other,
                                                      std::span<const tensor::Tensor> inputs,
                                                      const RunOptions& options = {});

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Checks names, count and types of `inputs` against what the graph declares; one line that says
/// what was expected.
core::Result<void> check_inputs(const Graph& graph, std::span<const tensor::Value> inputs);

}  // namespace commensal::graph
