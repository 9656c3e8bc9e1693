// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/base/protocol/receipt.hpp>

namespace commensal::receipt {

enum class StepPhase : std::uint8_t { kOffered, kCommitted, kCountersigned, kDelivered };
std::span<const std::string_view> enum_names(StepPhase);

/// The order within a step, as one party sees it; both sides drive one of these, and neither can
/// be moved out of order:
///
///   offered --commit--> committed --countersign--> countersigned --deliver--> delivered
///
/// The client countersigns before it sees Y, so it cannot refuse an answer it dislikes; the
/// provider has committed before it is countersigned, so it cannot change the answer.
/// A call out of order, or with a signature or salt that does not fit, is refused by name and
/// leaves the state as it was. In an encoding it is its phase and its receipt, as far as it has
/// got. Source: docs/protocol.md, "Order within a step".
class Step {
 public:
  using Phase = StepPhase;

  /// Of no job: what stands where there is no step yet, number 0.
  Step() = default;
  Step(protocol::Job job, std::uint64_t index);

  /// The provider's commitment c_i, drawn in this round of the beacon, under its signature.
  /// `known`: as in verify_batch_signature.
  core::Result<void> commit(const core::Digest& commitment, std::uint64_t round,
                            const protocol::BatchSignature& provider,
                            protocol::KnownSignatures* known = nullptr);
  /// The same by the provider itself, which need not check its own word, and may sign it for
  /// another round as long as the client has not. Precondition: kOffered or kCommitted.
  void commit_own(const core::Digest& commitment, std::uint64_t round,
                  const protocol::BatchSignature& provider);
  /// The client's signature over the same.
  core::Result<void> countersign(const protocol::BatchSignature& client,
                                 protocol::KnownSignatures* known = nullptr);
  /// The answer's root, which must open the commitment.
  core::Result<void> deliver(const core::Digest& output_root, const core::Digest& output_salt);

  Phase phase() const { return phase_; }
  std::uint64_t index() const { return receipt_.step; }
  const protocol::Job& job() const { return receipt_.job; }
  const core::Digest& job_id() const { return job_id_; }
  /// What is signed. From kCommitted on.
  protocol::ReceiptBody body() const;
  /// From kCommitted on; the client's signature stands in it from kCountersigned on.
  const protocol::Receipt& receipt() const;

  friend void write(protocol::Writer& writer, const Step& step);
  friend void read(protocol::Reader& reader, Step& step);

 private:
  core::Result<void> expect(Phase phase, std::string_view move) const;

  core::Digest job_id_{};
  protocol::Receipt receipt_;
  Phase phase_ = Phase::kOffered;
};

}  // namespace commensal::receipt
