// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/receipt/messages.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/record.hpp>

namespace commensal::rollout {

/// The client's side of one rollout: step by step begin(), on_commit(), on_deliver(). It signs no
/// second commitment to a step: before it sends its signature, that is durable; before it begins
/// the next step, the delivered state is. After a crash, load() goes on where the store is.
/// A call out of order or that does not fit is refused by name and changes nothing.
/// Thread-safety: one thread, the store's.
class ClientJob {
 public:
  struct Dependencies {
    core::Store& store;
    const crypto::SecretKey& key;
    std::shared_ptr<const graph::Graph> graph;  // its inputs and outputs are looked at, no more
    /// v_n of the noise chain, see noise_chain(); any value for a job without noise.
    core::Digest noise_key{};
  };

  /// Errors: kInvalidArgument (a job that is not the client's, or not of this noise key), the
  /// store's.
  static core::Result<ClientJob> start(const Dependencies& deps, const JobRecord& record);
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

  // The same in two parts, for who pays in between:
  struct Delivery {
    StepRecord record;
    receipt::Values outputs;
  };
  /// Changes nothing. Errors: as on_deliver(), but not the store's.
  core::Result<Delivery> check(const receipt::Deliver& message) const;
  /// Precondition: the last check() gave it. Errors: the store's.
  core::Result<void> keep(Delivery delivery);

  const protocol::Job& job() const { return record_.job; }
  const JobRecord& record() const { return record_; }
  const core::Digest& job_id() const { return job_id_; }
  /// Of the last delivered step, in the graph's order; none before it.
  const receipt::Values& outputs() const { return outputs_; }

  /// What an auditor of a delivered step is shown. Errors: kNotFound, kDataLoss.
  core::Result<receipt::Opening> opening(std::uint64_t step) {
    return opening_of(deps_.store, job_id_, step);
  }
  /// The step's receipt, which is its ticket. Errors: kNotFound, kDataLoss.
  core::Result<protocol::Receipt> receipt(std::uint64_t step);

 private:
  ClientJob(const Dependencies& deps, JobRecord record, const core::Digest& job_id);
  core::Result<void> check_record();

  Dependencies deps_;
  JobRecord record_;
  core::Digest job_id_;
  JobRows rows_;
  std::optional<beacon::HashChain> noise_;  // none without noise
  StepRecord last_;
  std::uint64_t begun_ = 0;  // the step that was asked for and is not committed to; 0: none
  receipt::Values outputs_;
};

/// The reverse hash chain that a job's noise is made of: its anchor is Job::noise_anchor. `key`
/// must be random, secret, and of one job only. Precondition: steps <= limits::kRolloutStepsMax.
beacon::HashChain noise_chain(const core::Digest& key, std::uint64_t steps);

}  // namespace commensal::rollout
