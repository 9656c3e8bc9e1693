// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/beacon/chain.hpp>
#include <commensal/verify/chain/messages.hpp>
#include <commensal/verify/chain/record.hpp>
#include <commensal/verify/receipt/step.hpp>

namespace commensal::chain {

/// What an auditor of a delivered link is shown; with it, what the link's parties have signed and
/// the salt by which its answer is compared (receipt::judge).
struct LinkAudit {
  LinkTask task;
  protocol::ReceiptBody body;
  core::Digest output_salt{};
};
/// From the client's store. Errors: kNotFound, kDataLoss.
core::Result<LinkAudit> audit_of(core::Store& store, const core::Digest& job_id,
                                 std::uint64_t step);

/// The client's side of one chain: link by link begin(), on_commit(), on_deliver(). It signs no
/// second commitment to a link: before it sends its signature, that is durable; before it begins
/// the next link, the delivered state is. After a crash, load() goes on where the store is.
/// A call out of order or that does not fit is refused by name and changes nothing.
/// Thread-safety: one thread, the store's.
class ChainClient {
 public:
  struct Dependencies {
    core::Store& store;
    const crypto::SecretKey& key;
    std::shared_ptr<const graph::Graph> graph;
    /// v_n of the noise chain, see noise_chain(); any value for a job without noise.
    core::Digest noise_key{};
  };

  /// Errors: kInvalidArgument (a job that is not the client's, or not of this noise key), the
  /// store's.
  static core::Result<ChainClient> start(const Dependencies& deps, const ChainRecord& record);
  /// Errors besides: kNotFound, kDataLoss.
  static core::Result<ChainClient> load(const Dependencies& deps, const core::Digest& job_id);

  /// Whether all links are delivered.
  bool is_finished() const;
  /// The link that is being made, or was made last; step 0 before the first.
  const LinkRecord& last() const { return last_; }
  /// A signature that is durable and has perhaps not been answered: to be sent instead of begin().
  std::optional<Countersign> pending() const;

  /// The next link, or again the one that is begun. Error: kFailedPrecondition where a delivery is
  /// awaited, or all is done.
  core::Result<Begin> begin();
  /// Checks the provider's signature. Errors: kFailedPrecondition, kUnauthenticated, the store's.
  core::Result<Countersign> on_commit(const Commit& message);
  /// Checks that it opens the commitment, fits the graph and is a state that the job allows.
  /// Errors: kFailedPrecondition, kDataLoss, kInvalidArgument, the store's.
  core::Result<void> on_deliver(const Deliver& message);

  // The same in two parts, for who pays in between:
  struct Delivery {
    LinkRecord link;
    Values outputs;
  };
  /// Changes nothing. Errors: as on_deliver(), but not the store's.
  core::Result<Delivery> check(const Deliver& message) const;
  /// Precondition: the last check() gave it. Errors: the store's.
  core::Result<void> keep(Delivery delivery);

  const protocol::Job& job() const { return record_.job; }
  const ChainRecord& record() const { return record_; }
  const core::Digest& job_id() const { return job_id_; }
  /// Of the last delivered link, in the graph's order; none before it.
  const Values& outputs() const { return outputs_; }

  using Audit = LinkAudit;
  /// Errors: kNotFound, kDataLoss.
  core::Result<Audit> audit(std::uint64_t step) { return audit_of(deps_.store, job_id_, step); }
  /// The link's receipt, which is its ticket. Errors: kNotFound, kDataLoss.
  core::Result<protocol::Receipt> receipt(std::uint64_t step);

 private:
  ChainClient(const Dependencies& deps, ChainRecord record, const core::Digest& job_id);
  core::Result<void> check_record();
  core::Result<void> resume(LinkRecord last);

  Dependencies deps_;
  ChainRecord record_;
  core::Digest job_id_;
  ChainRows rows_;
  std::optional<beacon::ReverseChain> noise_;  // none without noise
  LinkRecord last_;
  std::optional<receipt::Step> step_;  // of the link that is begun
  Values outputs_;
};

/// The reverse hash chain that a job's noise is made of: its anchor is Job::noise_anchor. `key`
/// must be random, secret, and of one job only. Precondition: links <= limits::kChainLinksMax.
beacon::ReverseChain noise_chain(const core::Digest& key, std::uint64_t links);

}  // namespace commensal::chain
