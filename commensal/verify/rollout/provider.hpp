// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/verify/receipt/messages.hpp>
#include <commensal/verify/rollout/engine.hpp>
#include <commensal/verify/rollout/locate.hpp>
#include <commensal/verify/rollout/record.hpp>

namespace commensal::rollout {

/// The provider's side of one rollout. Before it commits, outputs and salt are durable; before it
/// delivers, the client's signature is. After a crash, load() goes on where the store is: it
/// commits to no step twice.
/// A call out of order or that does not fit is refused by name and changes nothing.
/// Thread-safety: one thread, the store's.
class RolloutProvider {
 public:
  struct Dependencies {
    core::Store& store;
    core::Rng& rng;
    const crypto::SecretKey& key;
    Engine& engine;
  };

  /// A new rollout. Errors: kFailedPrecondition (not this provider, model or numeric
  /// specification), kInvalidArgument (feeds, inputs that do not open c_0), kResourceExhausted
  /// (limits::kRolloutStepsMax), the store's.
  static core::Result<RolloutProvider> start(const Dependencies& deps, const RolloutRecord& record);
  /// One that is in the store. Errors besides: kNotFound, kDataLoss.
  static core::Result<RolloutProvider> load(const Dependencies& deps, const core::Digest& job_id);

  /// Computes step `begin.step` and commits to it, as a ticket of `round`; the same commitment
  /// again if it has. Errors: kFailedPrecondition (another step's turn), kDataLoss (the value does
  /// not follow from the one before), kInvalidArgument (the state that comes out is forbidden),
  /// those of the run and the store.
  core::Result<receipt::Commit> begin(const receipt::Begin& begin, std::uint64_t round);

  // The same in three parts, for who computes on another thread:
  /// The commitment, if it has been made; nothing where the step is to be computed. Errors:
  /// begin()'s about order and value.
  core::Result<std::optional<receipt::Commit>> asked(const receipt::Begin& begin) const;
  /// Touches the engine, nothing else: on any thread, while no other call is made.
  core::Result<receipt::Values> compute(const receipt::Begin& begin) const;
  /// Precondition: asked(begin) gave nothing, and compute(begin) these outputs.
  /// Errors: kInvalidArgument (the state is forbidden), the store's.
  core::Result<receipt::Commit> commit(const receipt::Begin& begin, std::uint64_t round,
                                       receipt::Values outputs);

  /// The last commitment once more, as a ticket of another round: where the one that it was signed
  /// for has closed before the client signed. Errors: kFailedPrecondition (there is none, or it is
  /// countersigned), the store's.
  core::Result<receipt::Commit> sign_again(std::uint64_t round);

  /// Errors: kFailedPrecondition, kUnauthenticated, the store's.
  core::Result<receipt::Deliver> countersign(const receipt::Countersign& message);

  const protocol::Job& job() const { return record_.job; }
  const core::Digest& job_id() const { return job_id_; }
  /// The step that was last committed to; step 0 before the first.
  const StepRecord& last() const { return last_; }
  /// Any step so far: what a dispute asks for. Errors: kNotFound, kDataLoss.
  core::Result<StepRecord> step(std::uint64_t step) { return rows_.step(step); }
  /// Runs a step again and lists its operators' roots. Errors: as step(), those of the run.
  core::Result<std::vector<NodeRoot>> trace(std::uint64_t step);

 private:
  RolloutProvider(const Dependencies& deps, RolloutRecord record, const core::Digest& job_id)
      : deps_(deps), record_(std::move(record)), job_id_(job_id), rows_(deps.store, job_id) {}
  core::Result<void> check();
  /// Durable when it returns.
  core::Result<receipt::Commit> sign(StepRecord record, const core::Digest& commitment,
                                     std::uint64_t round);

  Dependencies deps_;
  RolloutRecord record_;
  core::Digest job_id_;
  RolloutRows rows_;
  receipt::Values inputs_;
  StepRecord last_;
  receipt::Values outputs_;  // of last_
};

}  // namespace commensal::rollout
