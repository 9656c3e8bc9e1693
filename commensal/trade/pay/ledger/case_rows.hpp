// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/arbiter.hpp>

/// What the state keeps of accusations.
namespace commensal::ledger {

enum class CaseStatus : std::uint8_t {
  kAccused,    // waits for the accused
  kContested,  // both owe moves
  kUndecided,  // waits for auditors
  kConvicted,  // over, as is what follows
  kAcquitted,
};
std::span<const std::string_view> enum_names(CaseStatus);

inline bool is_pending(CaseStatus status) { return status < CaseStatus::kConvicted; }

struct CaseKey {
  Digest subject{};  // protocol::receipt_id, or protocol::report_id
  Address accuser;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("subject", self.subject);
    archive.field("accuser", self.accuser);
  }
  auto operator<=>(const CaseKey&) const = default;
};

/// What an auditor computed.
struct Finding {
  Address auditor;
  Digest root{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("auditor", self.auditor);
    archive.field("root", self.root);
  }
};

/// An accusation, for ever: its bond bounds how many there are, and nobody makes the same twice.
struct CaseRow {
  Dispute dispute;
  CaseStatus status = CaseStatus::kAccused;
  Digest ticket{};  // protocol::ticket_id; zero where an auditor is accused
  Amount bond;      // locked while it is pending
  std::uint64_t since_ms = 0;
  std::uint64_t contest_ms = 0;   // until then silence is held against nobody
  std::uint64_t move_ms = 0;      // until then who owes a move has time; kContested
  std::uint64_t end_ms = 0;       // then no move is accepted any more; kContested
  std::uint32_t moves = 0;        // so far; they stand in a table of their own
  // Together at most limits::kCaseReportsMax.
  std::vector<Finding> findings;  // in their order
  std::vector<Address> drawn;     // who may still be called, in this order
  std::vector<Address> called;    // to report
  std::uint64_t report_ms = 0;    // until then they have time; 0: nobody was drawn yet

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("dispute", self.dispute);
    archive.field("status", self.status);
    archive.field("ticket", self.ticket);
    archive.field("bond", self.bond);
    archive.field("since_ms", self.since_ms);
    archive.field("contest_ms", self.contest_ms);
    archive.field("move_ms", self.move_ms);
    archive.field("end_ms", self.end_ms);
    archive.field("moves", self.moves);
    archive.field("findings", self.findings);
    archive.field("drawn", self.drawn);
    archive.field("called", self.called);
    archive.field("report_ms", self.report_ms);
  }
};

struct MoveKey {
  CaseKey at;
  std::uint32_t number = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("at", self.at);
    archive.field("number", self.number);
  }
  auto operator<=>(const MoveKey&) const = default;
};
struct MoveRow {
  std::uint8_t by_accuser = 0;
  core::Bytes move;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("by_accuser", self.by_accuser);
    archive.field("move", self.move);
  }
};

}  // namespace commensal::ledger
