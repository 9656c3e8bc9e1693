// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/receipt/messages.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/record.hpp>

namespace commensal::rollout {

/// The client's side of one job, of one step or of many: step by step begin(), on_commit(),
/// on_deliver(). It signs no second commitment to a step. Of a job that is kept, its signature is
/// in the store before it is sent, and the delivered state before the next step is begun: after a
/// crash, load() goes on where the store is.
/// A call out of order or that does not fit is refused by name and changes nothing.
/// Thread-safety: one thread, the store's.
class ClientJob {
 public:
  struct Dependencies {
    const crypto::SecretKey& key;
    std::shared_ptr<const graph::Graph> graph;  // its inputs and outputs are looked at, no more
    /// v_n of the noise chain, see noise_chain(); any value for a job without noise.
    core::Digest noise_key{};
    core::Store* store = nullptr;  // of a job that is kept
  };

  /// Errors: kInvalidArgument (a job that is not the client's, or not of this noise key), the
  /// store's.
  static core::Result<ClientJob> start(const Dependencies& deps, JobRecord record);
  /// Errors besides: kNotFound, kDataLoss.
  static core::Result<ClientJob> load(const Dependencies& deps, const core::Digest& job_id);

  /// Whether all steps are delivered.
  bool is_finished() const;
  /// The step that is being made, or was made last; step 0 before the first.
  const StepRecord& last() const { return last_; }
  /// A signature that is durable and has perhaps not been answered: to be sent instead of begin().
  std::optional<receipt::Countersign> pending() const;

  /// The next step, or again the one that is begun. Error: kFailedPrecondition where a delivery is
  /// awaited, or all is done.
  core::Result<receipt::Begin> begin();
  /// Checks the provider's signature. Errors: kFailedPrecondition, kUnauthenticated, the store's.
  core::Result<receipt::Countersign> on_commit(const receipt::Commit& message);
  /// Checks that it opens the commitment, fits the graph and is a state that the job allows.
  /// Errors: kFailedPrecondition, kDataLoss, kInvalidArgument, the store's.
  core::Result<void> on_deliver(const receipt::Deliver& message);

  // The first in three parts, for who signs several at once and owes for them:
  /// What is to be signed. Errors: as on_commit(), but not the store's.
  core::Result<protocol::ReceiptBody> commit(const receipt::Commit& message,
                                             protocol::KnownSignatures* known = nullptr);
  /// Precondition: commit() gave what this signs. The receipt, which nobody may see yet.
  const protocol::Receipt& countersign(const protocol::BatchSignature& signature,
                                       protocol::KnownSignatures* known = nullptr);
  /// Precondition: countersign(). The signature is durable. Errors: the store's.
  core::Result<void> keep_signature();

  // The second in parts, for who pays in between:
  struct Delivery {
    StepRecord record;
    core::Digest root;  // of its outputs
  };
  /// All but the state. Changes nothing. Errors: as on_deliver(), but not the store's.
  core::Result<Delivery> check(const receipt::Deliver& message) const;
  /// receipt::check_state() of what check() gave. Error: kInvalidArgument.
  core::Result<void> check_state(const Delivery& delivery) const;
  /// Precondition: the last check() gave it, and check_state() allows it. Of a job that the store
  /// has no more nothing is written: what is kept beside it is. Errors: the store's.
  core::Result<void> keep(const Delivery& delivery);

  const protocol::Job& job() const { return record_.job; }
  const JobRecord& record() const { return record_; }
  const core::Digest& job_id() const { return job_id_; }
  /// Of the last delivered step, in the graph's order; none before it.
  const receipt::Values& outputs() const { return outputs_; }
  /// Their state_root(); zero before the first.
  const core::Digest& root() const { return root_; }
  /// How many steps are.
  std::uint64_t delivered() const;

  /// What opens the only step of a job of one.
  receipt::Opening opening_of(const Delivery& delivery) const;
  /// What an auditor of a delivered step of a job that is kept is shown. Errors: kNotFound,
  /// kDataLoss.
  core::Result<receipt::Opening> opening(std::uint64_t step) const;
  /// The receipt of a step of a job that is kept, which is its ticket. Errors: kNotFound,
  /// kDataLoss.
  core::Result<protocol::Receipt> receipt(std::uint64_t step) const;

 private:
  ClientJob(const Dependencies& deps, JobRecord record, const core::Digest& job_id);
  core::Result<void> check_record();
  core::Result<void> put(const StepRecord& record);

  Dependencies deps_;
  JobRecord record_;
  core::Digest job_id_;
  std::optional<beacon::HashChain> noise_;  // none without noise
  StepRecord last_;
  std::uint64_t begun_ = 0;  // the step that was asked for and is not committed to; 0: none
  StepRecord signed_;        // that one, from commit() to keep_signature()
  receipt::Values outputs_;
  core::Digest root_{};
};

/// The reverse hash chain that a job's noise is made of: its anchor is Job::noise_anchor. `key`
/// must be random, secret, and of one job only. Precondition: steps <= limits::kRolloutStepsMax.
beacon::HashChain noise_chain(const core::Digest& key, std::uint64_t steps);

}  // namespace commensal::rollout
