// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <map>
#include <optional>
#include <set>

namespace commensal::provider {

/// What a provider does about a gateway that does not draw its tickets: it asks for the reveal in
/// the ledger (Demand), where everybody can see it, and when the ledger's delay is over it claims
/// what each ticket of the round was worth before its draw (Default). It says what to send next;
/// what is refused is tried again after another delay, so that nothing depends on an answer.
/// Deterministic; no clock but the injected one. Thread-safety: one thread, the book's.
class Recourse {
 public:
  /// A ticket that is not drawn `reveal_ms_max` after its commitment is overdue. All outlive this.
  Recourse(ticket::TicketBook& tickets, const core::Clock& clock, std::int64_t reveal_ms_max)
      : tickets_(tickets), clock_(clock), reveal_ms_max_(reveal_ms_max) {}

  /// The next transaction against this gateway, if it is time for one; `reveal_delay_ms` is the
  /// ledger's. Call it again once that one was sent and answered. Error: kDataLoss (a receipt).
  core::Result<std::optional<ledger::Body>> next(const beacon::TwoPartyBeacon& beacon,
                                                 std::uint64_t reveal_delay_ms);
  /// The first round that was asked for and is not closed yet; nothing: all is well.
  std::optional<std::uint64_t> missing_round() const;

 private:
  struct Case {
    std::int64_t asked_ms = 0;
    std::set<core::Digest> claimed;
  };

  ticket::TicketBook& tickets_;
  const core::Clock& clock_;
  const std::int64_t reveal_ms_max_;
  std::map<std::uint64_t, Case> cases_;  // by round
};

}  // namespace commensal::provider
