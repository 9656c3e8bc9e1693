// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/trade/pay/ledger/account.hpp>

namespace commensal::ledger {

/// The rules that a ledger is founded with. They stand in its first entry, so that whoever checks
/// the journal needs nothing else.
struct Config {
  Address operator_address;  // books deposits, grants credit, admits auditors; names the ledger
  std::uint64_t chain_id = protocol::kEmbeddedLedger;
  std::uint64_t withdrawal_delay_ms = 7ull * 24 * 3600 * 1000;  // of what is locked
  std::uint64_t reveal_delay_ms = 10ull * 60 * 1000;            // a gateway's, to answer a demand
  std::uint64_t absence_delay_ms = 3 * 24ull * 3600 * 1000;     // a provider's: it may be off
  std::uint64_t audit_delay_ms = 24ull * 3600 * 1000;           // then a winner is paid anyway
  std::uint64_t opening_rounds = 600;    // acknowledged rounds until a winner must be open
  std::uint32_t pattern_mismatches = 2;  // from this one on they cost all, whatever the record
  std::uint32_t pardon_matches = 1000;   // in a row: a long record, and mismatches are forgotten
  Amount auditor_fee{1};                 // for a verdict that pays a winner
  Amount auditor_bounty{100};            // the accuser's, out of a slash; at most what is not burnt
  Amount penalty{100};                   // the least of any offence
  Amount credit_cap{1'000'000};          // pool and granted credit together
  Amount accusation_bond{100};           // of an accuser, until its case is over
  std::uint64_t contest_delay_ms = 24ull * 3600 * 1000;      // silence is held against nobody
  std::uint64_t move_delay_ms = 3600 * 1000;                 // for each move of a dispute
  std::uint64_t dispute_delay_ms = 7ull * 24 * 3600 * 1000;  // for all of them
  Amount auditor_stake{1000};                                // that answers for a report
  std::uint32_t reports_needed = 2;                          // that agree, and decide
  std::uint64_t report_delay_ms = 6ull * 3600 * 1000;        // for who is drawn to report

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("operator_address", self.operator_address);
    archive.field("chain_id", self.chain_id);
    archive.field("withdrawal_delay_ms", self.withdrawal_delay_ms);
    archive.field("reveal_delay_ms", self.reveal_delay_ms);
    archive.field("absence_delay_ms", self.absence_delay_ms);
    archive.field("audit_delay_ms", self.audit_delay_ms);
    archive.field("opening_rounds", self.opening_rounds);
    archive.field("pattern_mismatches", self.pattern_mismatches);
    archive.field("pardon_matches", self.pardon_matches);
    archive.field("auditor_fee", self.auditor_fee);
    archive.field("auditor_bounty", self.auditor_bounty);
    archive.field("penalty", self.penalty);
    archive.field("credit_cap", self.credit_cap);
    archive.field("accusation_bond", self.accusation_bond);
    archive.field("contest_delay_ms", self.contest_delay_ms);
    archive.field("move_delay_ms", self.move_delay_ms);
    archive.field("dispute_delay_ms", self.dispute_delay_ms);
    archive.field("auditor_stake", self.auditor_stake);
    archive.field("reports_needed", self.reports_needed);
    archive.field("report_delay_ms", self.report_delay_ms);
  }
  bool operator==(const Config&) const = default;
};

}  // namespace commensal::ledger
