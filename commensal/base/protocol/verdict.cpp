// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/verdict.hpp>

namespace commensal::protocol {
namespace {

using core::ErrorCode;

Digest digest_of(const Verdict& verdict, std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return crypto::typed_digest(
      domain, crypto::StructHash("Verdict(bytes32 receiptId,uint8 outcome,address auditor,"
                                 "bytes32 expectedCommitment,bytes32 recomputedCommitment,"
                                 "string reason)")
                  .word(verdict.receipt_id)
                  .uint(static_cast<std::uint64_t>(verdict.outcome))
                  .address(verdict.auditor)
                  .word(verdict.expected_commitment)
                  .word(verdict.recomputed_commitment)
                  .text(verdict.reason)
                  .finish());
}

Digest digest_of(const AuditReport& report, std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return crypto::typed_digest(
      domain,
      crypto::StructHash("AuditReport(bytes32 receiptId,bytes32 outputRoot,address auditor)")
          .word(report.receipt_id)
          .word(report.output_root)
          .address(report.auditor)
          .finish());
}

}  // namespace

std::span<const std::string_view> enum_names(Outcome) {
  static constexpr std::string_view kNames[] = {"match", "mismatch", "unavailable"};
  return kNames;
}

core::Result<void> Verdict::validity() const {
  const bool equal = expected_commitment == recomputed_commitment;
  const bool sound = outcome == Outcome::kMatch      ? equal
                     : outcome == Outcome::kMismatch ? !equal
                                                     : recomputed_commitment == Digest{};
  if (!sound) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "outcome is {}, but {} was expected and {} recomputed", name_of(outcome),
                      core::to_hex(expected_commitment), core::to_hex(recomputed_commitment));
  }
  return {};
}

Verdict sign_verdict(const crypto::SecretKey& key, Verdict verdict, std::uint64_t chain_id) {
  core::check(verdict.validity().has_value(),
              "a verdict whose outcome contradicts its commitments");
  verdict.auditor = key.address();
  verdict.signature = crypto::sign(key, digest_of(verdict, chain_id));
  return verdict;
}

core::Result<void> verify_verdict(const Verdict& verdict, std::uint64_t chain_id) {
  if (const auto valid = verdict.validity(); !valid) {
    return core::in_context("verdict", valid.error());
  }
  const auto by_auditor =
      verify_signer([&](std::uint64_t chain) { return digest_of(verdict, chain); },
                    verdict.signature, verdict.auditor, chain_id);
  if (!by_auditor) return core::in_context("verdict", by_auditor.error());
  return {};
}

Digest report_id(const AuditReport& report) {
  return crypto::tagged_hash("commensal/audit-report/v1", encode(report));
}

AuditReport sign_report(const crypto::SecretKey& key, AuditReport report, std::uint64_t chain_id) {
  report.auditor = key.address();
  report.signature = crypto::sign(key, digest_of(report, chain_id));
  return report;
}

core::Result<void> verify_report(const AuditReport& report, std::uint64_t chain_id) {
  const auto by_auditor =
      verify_signer([&](std::uint64_t chain) { return digest_of(report, chain); }, report.signature,
                    report.auditor, chain_id);
  if (!by_auditor) return core::in_context("audit report", by_auditor.error());
  return {};
}

}  // namespace commensal::protocol
