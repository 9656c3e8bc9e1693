// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <map>
#include <set>
#include <utility>

namespace commensal::gateway {

/// A provider knows what its tickets have won before it shows that, so that a cheat hangs up where
/// a wrong answer has. Winners are audited; so is, from our own copy, every ticket that is not
/// drawn in time, and every winner that nobody claims: whoever leaves is audited no less than if it
/// had stayed. Each once in a life of this process. Thread-safety: one thread, the store's.
class Withheld {
 public:
  /// All of them outlive this object.
  Withheld(const core::Clock& clock, const ReceiptBook& book, EventQueue& events,
           const ticket::TicketBook& tickets)
      : clock_(clock), book_(book), events_(events), tickets_(tickets) {}

  /// Audits (event::AuditDue) what is due.
  void tick();

 private:
  static constexpr std::int64_t kLookMs = 10'000;
  static constexpr std::size_t kLooksMax = 256;  // at receipts, in a turn of the loop
  using Seen = std::set<std::pair<ticket::State, core::Digest>>;  // tickets
  void look(ticket::State state, Seen& still, std::size_t left);

  const core::Clock& clock_;
  const ReceiptBook& book_;
  EventQueue& events_;
  const ticket::TicketBook& tickets_;
  Seen seen_;
  std::map<ticket::State, std::size_t> from_;  // which of them is looked at first
  std::int64_t next_look_ms_ = 0;
};

}  // namespace commensal::gateway
