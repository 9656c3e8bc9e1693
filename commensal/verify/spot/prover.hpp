// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/verify/dispute/player.hpp>
#include <commensal/verify/spot/messages.hpp>

namespace commensal::spot {

/// What a provider has in hand of a step that is audited. What is pointed to must outlive the
/// prover.
struct ProverHand {
  std::shared_ptr<const AuditModel> model;
  std::shared_ptr<const Survey> survey;  // for the inputs' types
  protocol::ReceiptBody body;
  const crypto::SecretKey* key = nullptr;
  std::vector<tensor::Tensor> inputs;  // in the graph's order
  dispute::Rerun rerun;                // of these inputs
};

/// The provider's side of a sublinear audit. Keeps no trace: it runs the step once for the roots,
/// and once more, when the beacon has drawn, for what is opened.
///
///   requested --roots--> rooted --openings--> opened
///
/// A call out of order or twice is refused and changes nothing. Thread-safety: one thread.
class Prover {
 public:
  Prover(ProverHand hand, kernels::ThreadPool& threads)
      : hand_(std::move(hand)), threads_(threads) {}

  /// `latest_round` is the last round of the beacon that is over. Answers the same request again
  /// with the same bytes. Errors: kInvalidArgument (malformed), kFailedPrecondition (another
  /// receipt, another request, a round that is over), kUnsupported (a model without a trace: loops,
  /// texts), and the run's.
  core::Result<Bytes> roots(ByteView request, std::uint64_t latest_round);
  /// Errors: kFailedPrecondition (before the roots, another round), the run's.
  core::Result<Bytes> openings(std::uint64_t round, const Digest& beacon);

 private:
  ProverHand hand_;
  kernels::ThreadPool& threads_;
  std::optional<Request> request_;
  Bytes roots_;  // as sent
  Digest list_root_{};
};

}  // namespace commensal::spot
