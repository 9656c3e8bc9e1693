// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/run_options.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/verify/arbiter/course.hpp>
#include <commensal/verify/dispute/player.hpp>
#include <commensal/verify/rollout/argument.hpp>
#include <functional>
#include <memory>

namespace commensal::rollout {

/// Speaks for sides of disputes about one model. Keeps the player of the last one and where that
/// stood, so that no move is judged or run twice; without them (after a restart) they are made
/// anew from the moves. Thread-safety: one thread at a time.
class Advocate {
 public:
  /// The run that the side stands by; noise is in its inputs already.
  using Run = std::function<core::Result<receipt::Values>(const receipt::Values& inputs,
                                                          const graph::RunOptions& options)>;
  /// What the moves of a side are made by: what lab/'s liars differ in.
  using Voice = std::function<std::unique_ptr<dispute::Player>(dispute::Player&& player)>;

  /// `graph` outlives it, and is the one whose nodes the runs show; `leaves` are its own. `pacer`
  /// is the one that runs have where their options name none; null: none.
  Advocate(const graph::Graph& graph, std::shared_ptr<const receipt::ModelLeaves> leaves,
           core::Pacer* pacer, Run run, Voice voice = {});
  /// An honest side, whose runs are the session's own, planned where they can be.
  Advocate(graph::Session& session, std::shared_ptr<const receipt::ModelLeaves> leaves,
           core::Pacer* pacer);
  Advocate(const Advocate&) = delete;
  Advocate& operator=(const Advocate&) = delete;

  /// `options` are those of each of the runs. Errors: kFailedPrecondition (not this model, nor this
  /// numeric specification; moves that no arbiter would have accepted; what Player says),
  /// kUnsupported (no trace of this model; a tracer), kInvalidArgument (inputs that do not have the
  /// dispute's root), kResourceExhausted, those of the referee and of the runs.
  core::Result<Counsel> argue(const Argument& argument, const graph::RunOptions& options);

  /// Whether it keeps tensors, in the memory of the session.
  bool keeps() const { return player_ != nullptr; }
  void forget() {
    player_.reset();
    inputs_.clear();
  }

 private:
  core::Result<void> check(const Argument& argument, const graph::RunOptions& options) const;
  /// Whether the player is one for this.
  bool speaks_for(const Argument& argument) const;
  core::Result<void> prepare(const Argument& argument);
  core::Result<receipt::Values> rerun(const receipt::Values& inputs, graph::Tracer& tracer,
                                      core::Pacer* pacer);

  const graph::Graph& graph_;
  std::shared_ptr<const receipt::ModelLeaves> leaves_;
  receipt::ModelRoots roots_;
  core::Pacer* pacer_;
  Run run_;
  Voice voice_;
  std::shared_ptr<dispute::PlannedTrace> planned_;  // null: every run is traced node by node
  graph::Session* session_ = nullptr;               // of planned_
  kernels::ThreadPool threads_{1};                  // hashes
  const core::ManualClock clock_{};  // stands still: deadlines are the ledger's business
  arbiter::Course course_{clock_};
  std::unique_ptr<dispute::Player> player_;
  // What player_ is for.
  arbiter::Setup setup_;
  arbiter::Side side_ = arbiter::Side::kProvider;
  receipt::Values inputs_;
  const graph::RunOptions* options_ = nullptr;  // of the present call
};

}  // namespace commensal::rollout
