// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <map>
#include <optional>

namespace commensal::provider {

/// Offers the winners that are open in the ledger at a share of their face value. It says what to
/// send next; what the gateway does not say is asked for them is said again, later and later.
/// Deterministic; no clock but the injected one. Thread-safety: one thread, the book's.
class Sales {
 public:
  /// `share_pm`: thousandths of the face value, at most 1000; 0: nothing is for sale. All outlive
  /// this.
  Sales(const ticket::TicketBook& tickets, const core::Clock& clock, std::uint32_t share_pm)
      : tickets_(tickets), clock_(clock), share_pm_(share_pm) {}

  /// A winner is open, and so much is asked for it; 0: it is not for sale.
  void told(const core::Digest& ticket, const protocol::Amount& asked);
  /// The next offer of a winner of this beacon, if one is missing.
  std::optional<ledger::Body> next(const core::Digest& beacon);

 private:
  struct Offer {
    protocol::Amount asked;
    int tries = 0;
    std::int64_t again_ms = 0;
  };

  const ticket::TicketBook& tickets_;
  const core::Clock& clock_;
  const std::uint32_t share_pm_;
  std::map<core::Digest, Offer> offers_;  // by ticket; of open ones
};

}  // namespace commensal::provider
