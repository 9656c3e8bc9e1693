// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/economy/testing/money.hpp>
#include <commensal/lab/economy/testing/rules.hpp>

namespace commensal::economy::testing {

using ledger::AccountKind;

namespace {

constexpr std::uint64_t kPurse = 20'000;  // of a consumer, at least half of it at any time
constexpr std::uint64_t kGrant = 3000;    // of free credit, now and then
constexpr std::uint64_t kProfit = 20'000;
constexpr std::uint64_t kAnnounced = 500;

/// Tops up what has sunk below half of `wanted`.
Result<void> refill(Gateway& gateway, AccountKind kind, std::uint64_t wanted) {
  const Amount held = gateway.balance(gateway.address(), kind);
  if (held >= Amount(wanted / 2)) return {};
  if (gateway.balance(gateway.address()) < Amount(wanted)) {
    COMMENSAL_TRY(gateway.deposit(gateway.address(), wanted));
  }
  return gateway.fund(gateway.address(), kind, wanted - held.low());
}

Result<void> move_gateways(World& world, Gateway& gateway) {
  COMMENSAL_TRY(refill(gateway, AccountKind::kEscrow, kEscrow));
  COMMENSAL_TRY(refill(gateway, AccountKind::kPenaltyEscrow, kPenaltyEscrow));
  if (gateway.balance(gateway.address()) > Amount(2 * kProfit)) {
    COMMENSAL_TRY(gateway.submit(ledger::Withdraw{Amount(kProfit)}));
  }
  for (const Address& consumer : gateway.consumers()) {
    if (gateway.balance(consumer) < Amount(kPurse / 2)) {
      COMMENSAL_TRY(gateway.deposit(consumer, kPurse));
    }
  }
  const Amount pool = gateway.balance(gateway.address(), AccountKind::kCreditPool);
  if (!world.one_in(10) || pool < Amount(kGrant)) return {};
  const Address& lucky = gateway.consumers()[world.below(gateway.consumers().size())];
  COMMENSAL_TRY(gateway.submit(ledger::GrantCredit{lucky, Amount(kGrant)}));
  return {};
}

/// What is locked on its way out waits a week; slashes may take it before.
Result<void> complete(const World& world, Gateway& gateway, const Address& owner) {
  std::vector<std::uint64_t> due;
  const auto& rows = gateway.state().announcements.rows();
  for (auto at = rows.lower_bound({owner, 0}); at != rows.end() && at->first.owner == owner; ++at) {
    const auto now_ms = static_cast<std::uint64_t>(world.clock.wall_ms());
    if (at->second.release_ms <= now_ms) due.push_back(at->first.number);
  }
  for (const std::uint64_t number : due) {
    COMMENSAL_TRY(gateway.submit(owner, ledger::CompleteWithdrawal{number}));
  }
  return {};
}

Result<void> move_providers(World& world, Gateway& gateway, const Address& owner) {
  COMMENSAL_TRY(complete(world, gateway, owner));
  const ledger::State& state = gateway.state();
  // Who was caught twice is out.
  const bool is_out = state.audits.get(owner).mismatches >= state.scalars.config.pattern_mismatches;
  const Amount stake = gateway.balance(owner, AccountKind::kStake);
  if (!is_out && stake < Amount(kStakeMin)) {
    COMMENSAL_TRY(gateway.deposit(owner, kStake));
    COMMENSAL_TRY(gateway.fund(owner, AccountKind::kStake, kStake));
  } else if (stake > Amount(kStakeMin + kAnnounced) && world.one_in(40)) {
    COMMENSAL_TRY(
        gateway.submit(owner, ledger::AnnounceWithdrawal{AccountKind::kStake, Amount(kAnnounced)}));
  }
  const Amount earned = gateway.balance(owner);
  if (earned < Amount(kFace) || !world.one_in(12)) return {};
  COMMENSAL_TRY(gateway.submit(owner, ledger::Withdraw{Amount(earned.low() / 2)}));
  return {};
}

}  // namespace

Result<void> move_money(World& world, Gateway& gateway, const std::vector<Link>& links) {
  return gateway.once(world.round, [&]() -> Result<void> {
    COMMENSAL_TRY(move_gateways(world, gateway));
    for (const Link& link : links) {
      COMMENSAL_TRY(move_providers(world, gateway, link.provider.address()));
    }
    return {};
  });
}

}  // namespace commensal::economy::testing
