// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/verify/arbiter/referee.hpp>
#include <commensal/verify/dispute/planned.hpp>
#include <commensal/verify/dispute/trace.hpp>
#include <commensal/verify/dispute/tree.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <functional>

namespace commensal::dispute {

/// Runs the step once more, seen by the tracer. The pacer may stop it.
using Rerun =
    std::function<core::Result<std::vector<tensor::Tensor>>(graph::Tracer&, core::Pacer*)>;

/// What a side has in hand. What is pointed to must outlive the player.
struct Hand {
  arbiter::Side side = arbiter::Side::kProvider;
  const crypto::SecretKey* key = nullptr;  // null: claims stay unsigned (arbiter::sign_move)
  std::shared_ptr<const graph::Graph> graph;
  std::shared_ptr<const receipt::ModelLeaves> model;  // of the same graph
  std::vector<tensor::Tensor> inputs;                 // in the graph's order
  Rerun rerun;
  /// The same values as the rerun's, for less; null: every run is a rerun.
  std::shared_ptr<PlannedTrace> planned = nullptr;
  RunOther run_other = {};                                     // where `planned` is there
  std::int64_t kept_bytes_max = limits::kDisputeKeptBytesMax;  // of what was run: 0, nothing
};
/// A session's runs on the hand's inputs, which must outlive what is returned.
Rerun rerun_on(graph::Session& session, const std::vector<tensor::Tensor>& inputs);
/// Has the hand's runs planned where they can be, on a session of its model, which must outlive it.
void plan_on(graph::Session& session, Hand& hand);

/// One side of a dispute. It runs the model once for the checkpoints' roots, planned where it can
/// be, then the segment in question, whose values it keeps for what the arbiter wants to see of
/// them. Where what the first run left is too large to be kept, that is run again. It may take a
/// dispute over wherever it stands: what it lacks is made again, and is what was claimed.
/// Thread-safety: one thread; `threads` hashes.
class Player {
 public:
  /// Runs the model once; again where what it keeps takes too much memory. Error: kUnsupported for
  /// a model of which there is no trace; what the session returns.
  static core::Result<Player> prepare(Hand hand, kernels::ThreadPool& threads);
  Player(Player&&) = default;
  virtual ~Player() = default;

  /// State root of the outputs.
  const core::Digest& output_root() const { return output_root_; }
  /// The move that this side owes, encoded; nothing if it owes none. Errors: those of the run;
  /// kFailedPrecondition where this side has claimed before what its runs do not give.
  core::Result<std::optional<core::Bytes>> answer(const arbiter::Referee& referee);

 protected:
  Player(Hand hand, kernels::ThreadPool& threads) : hand_(std::move(hand)), threads_(&threads) {}
  core::Result<void> run();
  core::Result<std::vector<tensor::Tensor>> record();
  core::Result<std::vector<tensor::Tensor>> record_nodes(std::int64_t kept_bytes_max);
  /// The values of the program's steps. `element` are the bits that this side put out.
  virtual std::vector<std::uint64_t> values_of(const arbiter::Program& program, const NodeRun& node,
                                               std::uint64_t element) const;

 private:
  core::Result<core::Bytes> body_of(const arbiter::Referee& referee);
  /// That what this side has said before follows from its runs: what is shown of them lies there.
  core::Result<void> check_own_words(const arbiter::Referee& referee) const;
  /// Has the segment in question, and runs it where it was not kept.
  core::Result<void> capture(const arbiter::Referee& referee);
  core::Result<Segment> run_segment(std::size_t first, std::size_t count);
  const Tree& output_tree(const arbiter::Referee& referee);
  const Tree& steps_tree(const arbiter::Referee& referee);
  core::Bytes claim(const arbiter::Referee& referee) const;
  core::Bytes segment_claim(const arbiter::Referee& referee) const;
  core::Bytes carried(const arbiter::Referee& referee) const;
  core::Bytes facts(const arbiter::Referee& referee) const;
  core::Bytes element_claim(const arbiter::Referee& referee);
  core::Bytes operands(const arbiter::Referee& referee);
  /// Of a value that `checkpoint` holds, or that nodes of the captured segment made.
  arbiter::TensorProof prove(graph::ValueId id, std::optional<std::uint64_t> checkpoint) const;
  std::optional<std::uint64_t> checkpoint_before(const arbiter::Referee& referee) const;
  /// The node in question, as it ran.
  const NodeRun& node_run(const arbiter::Referee& referee) const;
  arbiter::GraphSizes sizes() const;

  Hand hand_;
  kernels::ThreadPool* threads_;
  core::Digest output_root_{};
  std::vector<arbiter::CheckpointLeaf> checkpoints_;
  Tree trace_tree_, graph_tree_, weight_tree_, state_tree_;
  // Of the first run, until it is known which segment it is about: its nodes, or
  std::optional<Segment> kept_;
  std::optional<PlannedTrace::Run> planned_;  // checkpoints; without values: they are too large
  std::optional<Segment> captured_;           // that
  std::vector<arbiter::TraceLeaf> captured_leaves_;
  Tree segment_tree_, output_tree_, steps_tree_;
};

/// Both sides in one process, on a clock of their own: each answers until it is over. What is
/// refused is not sent again: its side runs out of time.
void play(arbiter::Referee& referee, core::ManualClock& clock, Player& provider,
          Player& challenger);

}  // namespace commensal::dispute
