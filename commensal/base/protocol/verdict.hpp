// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/receipt.hpp>

namespace commensal::protocol {

enum class Outcome : std::uint8_t {
  kMatch,        // re-executed to the same commitment
  kMismatch,     // re-executed to another one
  kUnavailable,  // not opened: there was nothing to re-execute
};
std::span<const std::string_view> enum_names(Outcome);

/// What an auditor found, signed (EIP-712: Verdict(bytes32 receiptId,uint8 outcome,address auditor,
/// bytes32 expectedCommitment,bytes32 recomputedCommitment,string reason)).
struct Verdict {
  static constexpr NounKind kKind = NounKind::kVerdict;

  Digest receipt_id{};
  Outcome outcome = Outcome::kMatch;
  crypto::Address auditor;
  Digest expected_commitment{};    // the receipt's
  Digest recomputed_commitment{};  // zero where the outcome is kUnavailable
  std::string reason;              // one line for people; UTF-8
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt_id", self.receipt_id);
    archive.field("outcome", self.outcome);
    archive.field("auditor", self.auditor);
    archive.field("expected_commitment", self.expected_commitment);
    archive.field("recomputed_commitment", self.recomputed_commitment);
    archive.field("reason", self.reason);
    archive.field("signature", self.signature);
  }
  /// Error: kInvalidArgument where outcome and commitments contradict each other.
  core::Result<void> validity() const;
  bool operator==(const Verdict&) const = default;
};

/// Fills in auditor and signature. Precondition: the rest is valid.
Verdict sign_verdict(const crypto::SecretKey& key, Verdict verdict,
                     std::uint64_t chain_id = kEmbeddedLedger);

/// That the auditor named in it signed a verdict that makes sense; whether that auditor had a say
/// is for the caller to know. Errors: kUnauthenticated, kInvalidArgument.
core::Result<void> verify_verdict(const Verdict& verdict, std::uint64_t chain_id = kEmbeddedLedger);

/// What a step gave an auditor who was shown its inputs and nothing of its outputs, signed
/// (EIP-712: AuditReport(bytes32 receiptId,bytes32 outputRoot,address auditor)): it answers for
/// this.
struct AuditReport {
  static constexpr NounKind kKind = NounKind::kAuditReport;

  Digest receipt_id{};
  Digest output_root{};
  crypto::Address auditor;
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt_id", self.receipt_id);
    archive.field("output_root", self.output_root);
    archive.field("auditor", self.auditor);
    archive.field("signature", self.signature);
  }
  bool operator==(const AuditReport&) const = default;
};

/// H("commensal/audit-report/v1", encoding).
Digest report_id(const AuditReport& report);
/// Fills in auditor and signature.
AuditReport sign_report(const crypto::SecretKey& key, AuditReport report,
                        std::uint64_t chain_id = kEmbeddedLedger);
/// Error: kUnauthenticated.
core::Result<void> verify_report(const AuditReport& report,
                                 std::uint64_t chain_id = kEmbeddedLedger);

}  // namespace commensal::protocol
