// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/joint_runs.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/advocate.hpp>
#include <span>
#include <vector>

namespace commensal::rollout {

/// A model, ready to compute the steps of jobs: a session, or an adversary of the laboratory.
/// Inputs and outputs are in the graph's order. Thread-safety: one thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Of the model that it was asked for.
  virtual const receipt::ModelRoots& roots() const = 0;
  virtual const graph::Graph& graph() const = 0;
  /// One step. Errors: those of graph::Session::run and noise::NoisySession.
  virtual core::Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                                            const std::optional<noise::Noise>& noise,
                                            const graph::RunOptions& options = {}) = 0;
  /// Several jobs of one step, without noise, each answered as by run(); by default one after the
  /// other. An engine that can reads its weights once for all of them. `options` are as those of
  /// graph::JointRuns.
  virtual std::vector<core::Result<receipt::Values>> run_all(
      std::span<const receipt::Values> requests, const graph::RunOptions& options = {});
  /// Whether run_all() is one run whatever the rows; false also where that is not sure.
  virtual bool joins() const { return false; }
  /// What a side of a dispute about a step of this model says next, unsigned (arbiter::sign_move).
  /// `options` are those of each run that it takes; what was kept of the last dispute saves most of
  /// them. Errors: those of Advocate::argue; by default kUnsupported.
  virtual core::Result<Counsel> argue(const Argument& argument,
                                      const graph::RunOptions& options = {});
  /// Whose nodes a tracer of that step sees; of the same structure as graph().
  virtual const graph::Graph& graph_of(std::uint64_t step) const {
    (void)step;
    return graph();
  }
};

/// The honest one: what the numeric specification says.
class SessionEngine final : public Engine {
 public:
  /// `leaves`: of the session's graph.
  SessionEngine(noise::NoisySession session, std::shared_ptr<const receipt::ModelLeaves> leaves);
  const receipt::ModelRoots& roots() const override { return roots_; }
  const graph::Graph& graph() const override { return session_.graph(); }
  core::Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                                    const std::optional<noise::Noise>& noise,
                                    const graph::RunOptions& options = {}) override;
  std::vector<core::Result<receipt::Values>> run_all(
      std::span<const receipt::Values> requests, const graph::RunOptions& options = {}) override;
  bool joins() const override { return joins_; }
  core::Result<Counsel> argue(const Argument& argument,
                              const graph::RunOptions& options = {}) override;

 private:
  /// Where memory was short, and a dispute held some that it can do without.
  bool has_made_room(const core::Result<receipt::Values>& answer);

  noise::NoisySession session_;
  graph::JointRuns joint_{session_.session()};
  const bool joins_;
  receipt::ModelRoots roots_;
  Advocate advocate_;
};

}  // namespace commensal::rollout
