// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <set>
#include <utility>

namespace commensal::gateway {

/// A provider knows what its tickets have won before it shows that, so that a cheat hangs up where
/// a wrong answer has. Winners are audited; so are, from our own copy, tickets that are not drawn
/// in time, as often as tickets win, and winners that nobody claims: nothing is gained by leaving.
/// Each is looked at once in a life of this process; after a restart those that are still withheld
/// are drawn again. Thread-safety: one thread, the store's.
class Withheld {
 public:
  /// All of them outlive this object.
  Withheld(const core::Clock& clock, core::Rng& rng, const ReceiptBook& book, EventQueue& events,
           const ticket::TicketBook& tickets)
      : clock_(clock), rng_(rng), book_(book), events_(events), tickets_(tickets) {}

  /// Audits (event::AuditDue) what is due.
  void tick();

 private:
  static constexpr std::int64_t kLookMs = 10'000;
  using Seen = std::set<std::pair<ticket::State, core::Digest>>;  // tickets
  void look(ticket::State state, Seen& still);

  const core::Clock& clock_;
  core::Rng& rng_;
  const ReceiptBook& book_;
  EventQueue& events_;
  const ticket::TicketBook& tickets_;
  Seen seen_;
  std::int64_t next_look_ms_ = 0;
};

}  // namespace commensal::gateway
