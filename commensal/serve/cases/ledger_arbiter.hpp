// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/arbiter.hpp>
#include <commensal/verify/arbiter/referee.hpp>

/// Accusations, as the parties and the ledger see them: the ledger knows nothing of models and the
/// arbiter nothing of money; here they meet.
namespace commensal::cases {

/// What the referee is told. Its deadlines are not used: the ledger has its own.
arbiter::Setup setup_of(const ledger::Dispute& dispute);
std::vector<arbiter::Said> said_by_sides(std::span<const ledger::Arbiter::Said> moves);

/// The rules of disputes for a ledger: those of arbiter::Referee, which it runs anew over all moves
/// each time, so that nothing is kept but what the journal has. Thread-safety: any thread.
class LedgerArbiter final : public ledger::Arbiter {
 public:
  core::Result<void> check(const ledger::Dispute& dispute) const override;
  core::Result<ledger::Standing> stand(const ledger::Dispute& dispute,
                                       std::span<const Said> moves) const override;
};

}  // namespace commensal::cases
