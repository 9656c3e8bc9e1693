// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/trade/pay/ledger/account.hpp>
#include <optional>

/// What can be asked of a ledger about answers that are said to be wrong. A case is named by its
/// subject and its accuser: by the id of the receipt (protocol::receipt_id), or of the report. What
/// each moves is in docs/money.md.
namespace commensal::ledger {

/// The answer that the provider signed is wrong, says the sender, and bonds money on it; or, where
/// there is a report, that of the auditor who confirmed it: everybody answers for what it signed.
struct Accuse {
  static constexpr std::string_view kName = "Accuse";
  protocol::Receipt receipt;
  Digest input_root{};  // as in Dispute
  Digest input_salt{};
  Digest output_root{};
  Digest output_salt{};
  std::optional<protocol::AuditReport> report;  // of the same outputs
  core::Bytes origin;  // shows that the input root is the step's, where c_0 alone does not; the
                       // arbiter reads it; at most limits::kOriginBytesMax

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("input_root", self.input_root);
    archive.field("input_salt", self.input_salt);
    archive.field("output_root", self.output_root);
    archive.field("output_salt", self.output_salt);
    archive.field("report", self.report);
    archive.field("origin", self.origin);
  }
  bool operator==(const Accuse&) const = default;
};
/// What its case is named by, and who is accused.
Digest subject_of(const Accuse& body);
inline const Address& accused_of(const Accuse& body) {
  return body.report ? body.report->auditor : body.receipt.job.provider;
}

/// What is said of a case by nothing but its name.
struct OnCase {
  Digest subject{};
  Address accuser;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("subject", self.subject);
    archive.field("accuser", self.accuser);
  }
  bool operator==(const OnCase&) const = default;
};

/// By the accused: it stands by its answer; from now on both owe moves.
struct Contest : OnCase {
  static constexpr std::string_view kName = "Contest";
  bool operator==(const Contest&) const = default;
};

/// By the accused: the answer is wrong.
struct Concede : OnCase {
  static constexpr std::string_view kName = "Concede";
  bool operator==(const Concede&) const = default;
};

/// A move of the dispute, by either side.
struct Argue {
  static constexpr std::string_view kName = "Argue";
  Digest subject{};
  Address accuser;
  core::Bytes move;  // the arbiter reads it; at most limits::kDisputeMoveBytesMax

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("subject", self.subject);
    archive.field("accuser", self.accuser);
    archive.field("move", self.move);
  }
  bool operator==(const Argue&) const = default;
};

/// The time of who owed something is over. By anyone.
struct Expire : OnCase {
  static constexpr std::string_view kName = "Expire";
  bool operator==(const Expire&) const = default;
};

/// What the step gives when it is computed again. By an auditor from outside, who answers for it
/// with its stake.
struct Report {
  static constexpr std::string_view kName = "Report";
  Digest subject{};
  Address accuser;
  Digest output_root{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("subject", self.subject);
    archive.field("accuser", self.accuser);
    archive.field("output_root", self.output_root);
  }
  bool operator==(const Report&) const = default;
};

}  // namespace commensal::ledger
