// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/receipt/step.hpp>

namespace commensal::receipt {

using core::ErrorCode;
using core::fail;

std::span<const std::string_view> enum_names(StepPhase) {
  static constexpr std::string_view kNames[] = {"offered", "committed", "countersigned",
                                                "delivered"};
  return kNames;
}

void write(protocol::Writer& writer, const Step& step) {
  writer.field("phase", step.phase_);
  writer.field("receipt", step.receipt_);
}

void read(protocol::Reader& reader, Step& step) {
  reader.field("phase", step.phase_);
  reader.field("receipt", step.receipt_);
  if (reader.ok()) step.job_id_ = protocol::job_id(step.receipt_.job);
}

Step::Step(protocol::Job job, std::uint64_t index) : job_id_(protocol::job_id(job)) {
  receipt_.job = std::move(job);
  receipt_.step = index;
}

core::Result<void> Step::expect(Phase phase, std::string_view move) const {
  if (phase_ == phase) return {};
  return fail(ErrorCode::kFailedPrecondition, "step {}: {} where the step is {}, not {}",
              receipt_.step, move, protocol::name_of(phase_), protocol::name_of(phase));
}

protocol::ReceiptBody Step::body() const {
  core::check(phase_ != Phase::kOffered, "a body follows a commitment");
  return {job_id_, receipt_.step, receipt_.commitment, receipt_.round};
}

const protocol::Receipt& Step::receipt() const {
  core::check(phase_ != Phase::kOffered, "a receipt follows a commitment");
  return receipt_;
}

core::Result<void> Step::commit(const core::Digest& commitment, std::uint64_t round,
                                const protocol::BatchSignature& provider,
                                protocol::KnownSignatures* known) {
  COMMENSAL_TRY(expect(Phase::kOffered, "a commitment"));
  COMMENSAL_TRY(protocol::verify_batch_signature(
      provider, {job_id_, receipt_.step, commitment, round}, protocol::Role::kProvider,
      receipt_.job.provider, protocol::kEmbeddedLedger, known));
  commit_own(commitment, round, provider);
  return {};
}

void Step::commit_own(const core::Digest& commitment, std::uint64_t round,
                      const protocol::BatchSignature& provider) {
  core::check(phase_ <= Phase::kCommitted, "what both have signed stands");
  receipt_.commitment = commitment;
  receipt_.round = round;
  receipt_.provider = provider;
  phase_ = Phase::kCommitted;
}

core::Result<void> Step::countersign(const protocol::BatchSignature& client,
                                     protocol::KnownSignatures* known) {
  COMMENSAL_TRY(expect(Phase::kCommitted, "a countersignature"));
  COMMENSAL_TRY(protocol::verify_batch_signature(client, body(), protocol::Role::kClient,
                                                 receipt_.job.client, protocol::kEmbeddedLedger,
                                                 known));
  receipt_.client = client;
  phase_ = Phase::kCountersigned;
  return {};
}

core::Result<void> Step::deliver(const core::Digest& output_root, const core::Digest& output_salt) {
  COMMENSAL_TRY(expect(Phase::kCountersigned, "a delivery"));
  if (protocol::commit_step(job_id_, receipt_.step, output_root, output_salt) !=
      receipt_.commitment) {
    return fail(ErrorCode::kDataLoss, "step {}: the delivered output is not what was committed to",
                receipt_.step);
  }
  phase_ = Phase::kDelivered;
  return {};
}

}  // namespace commensal::receipt
