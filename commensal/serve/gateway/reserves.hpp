// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/events.hpp>

namespace commensal::gateway {

/// Keeps the gateway's escrows at what MoneyConfig says, out of what consumers have paid: so a
/// gateway whose price covers its tickets never runs dry. Money for accusations' bonds stays
/// available. Thread-safety: one thread, the store's.
class Reserves {
 public:
  /// All but `config` outlive this object.
  Reserves(const core::Clock& clock, Bank& bank, EventQueue& events, const MoneyConfig& config)
      : clock_(clock),
        bank_(bank),
        events_(events),
        wanted_{{ledger::AccountKind::kEscrow, config.escrow},
                {ledger::AccountKind::kPenaltyEscrow, config.penalty_escrow}} {}

  /// Locks what is lacking and there: an entry for each of both, once a second at most. What goes
  /// wrong is event::Failed.
  void fill();

 private:
  struct Wanted {
    ledger::AccountKind kind;
    protocol::Amount amount;
  };

  protocol::Amount spare() const;

  const core::Clock& clock_;
  Bank& bank_;
  EventQueue& events_;
  const Wanted wanted_[2];
  std::int64_t next_ms_ = 0;  // monotonic
};

}  // namespace commensal::gateway
