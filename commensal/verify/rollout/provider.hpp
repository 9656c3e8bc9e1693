// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/verify/receipt/messages.hpp>
#include <commensal/verify/rollout/engine.hpp>
#include <commensal/verify/rollout/locate.hpp>
#include <commensal/verify/rollout/record.hpp>

namespace commensal::rollout {

/// The provider's side of one job, of one step or of many. Each step is asked for, computed,
/// committed to, countersigned, delivered. Of a job that is kept, outputs and salt are in the store
/// before the commitment is made, and the client's signature before the delivery is: after a crash,
/// load() goes on where the store is and commits to no step twice.
/// A call out of order or that does not fit is refused by name and changes nothing.
/// Thread-safety: one thread, the store's; but see compute().
class ProviderJob {
 public:
  struct Dependencies {
    core::Rng& rng;
    const crypto::SecretKey& key;
    core::Store* store = nullptr;  // of a job that is kept
  };
  /// What a step runs on.
  struct Inputs {
    receipt::Values values;
    std::optional<noise::Noise> noise;
  };
  struct Computed {
    receipt::Begin begin;
    tensor::NamedTensors outputs;
    core::Digest root{};  // theirs
  };

  /// A new one. It is checked where its first step is computed, and in the store with its first
  /// commitment.
  ProviderJob(const Dependencies& deps, JobRecord record);
  /// One that is in the store. Errors: kNotFound, kDataLoss.
  static core::Result<ProviderJob> load(const Dependencies& deps, const core::Digest& job_id);

  /// The commitment, if it has been made; nothing where the step is to be computed. Errors:
  /// kFailedPrecondition (another step's turn), kDataLoss (the value does not follow from the one
  /// before).
  core::Result<std::optional<receipt::Commit>> asked(const receipt::Begin& begin) const;

  /// Precondition: asked(begin) gave nothing. On any thread, while no other call is made; the
  /// engine is the model's. Errors: those of receipt::check_job, of the run, kInvalidArgument (the
  /// state that comes out is forbidden).
  core::Result<Computed> compute(const receipt::Begin& begin, Engine& engine,
                                 const graph::RunOptions& options = {});
  // The same in two parts, for who runs several jobs together:
  core::Result<Inputs> inputs_of(const receipt::Begin& begin, const Engine& engine);
  core::Result<Computed> outputs_of(const receipt::Begin& begin, const Engine& engine,
                                    receipt::Values outputs) const;

  /// Draws the salt of a step, which is what is committed to next.
  void hold(Computed computed);
  bool is_holding() const { return held_.has_value(); }
  /// What must be signed for that, as a ticket of `round`, and what opens it.
  protocol::ReceiptBody body(std::uint64_t round) const;
  const core::Digest& held_root() const { return held_->root; }
  const core::Digest& held_salt() const { return held_->record.output_salt; }
  /// Commits to what is held, which is durable then. Errors: the store's.
  core::Result<receipt::Commit> commit(std::uint64_t round,
                                       const protocol::BatchSignature& signature);
  /// All from asked() to commit(), for who needs none of the parts.
  core::Result<receipt::Commit> begin(const receipt::Begin& begin, Engine& engine,
                                      std::uint64_t round);
  /// The last commitment once more, as a ticket of another round: where the one that it was signed
  /// for has closed before the client signed. Errors: kFailedPrecondition (there is none, or it is
  /// countersigned), the store's.
  core::Result<receipt::Commit> sign_again(std::uint64_t round);

  /// Errors: kFailedPrecondition, kUnauthenticated, the store's.
  core::Result<receipt::Deliver> countersign(const receipt::Countersign& message,
                                             protocol::KnownSignatures* known = nullptr);

  const protocol::Job& job() const { return record_.job; }
  const tensor::NamedTensors& inputs() const { return record_.inputs; }
  const core::Digest& job_id() const { return job_id_; }
  /// Whether it is in the store.
  bool is_stored() const { return is_stored_; }
  /// The step that was last committed to; step 0 before the first.
  const StepRecord& last() const { return last_; }
  /// Any step so far of a job that is kept: what a dispute asks for. Errors: kNotFound, kDataLoss.
  core::Result<StepRecord> step(std::uint64_t step) const;
  /// Runs a step again and lists its operators' roots. Errors: as step(), those of the run.
  core::Result<std::vector<NodeRoot>> trace(std::uint64_t step, Engine& engine);

 private:
  /// Computed and not committed to.
  struct Held {
    StepRecord record;
    core::Digest root;
    core::Digest commitment;
  };
  core::Result<void> check(const Engine& engine);
  core::Result<receipt::Commit> keep(StepRecord record);

  Dependencies deps_;
  JobRecord record_;
  core::Digest job_id_;
  bool is_stored_ = false;
  bool is_checked_ = false;  // and the inputs are in the graph's order:
  receipt::Values inputs_;
  StepRecord last_;
  std::optional<Held> held_;
};

}  // namespace commensal::rollout
