// SPDX-License-Identifier: Apache-2.0
// What the state forgets, and when.
#include <commensal/trade/pay/ledger/rules.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>

namespace commensal::ledger {
namespace {

std::uint64_t round_of(const State& state, const Digest& chain) {
  const HashChainRow* row = state.hash_chains.find(chain);
  return row == nullptr ? 0 : row->round;
}

/// A wrong answer stays, or it could be punished again: each has cost a stake, or what was left.
bool may_go(const Context& context, const ClaimRow& claim) {
  if (claim.status == ClaimStatus::kOpen || claim.status == ClaimStatus::kRefused) return false;
  const BeaconRow* beacon = context.state.beacons.find(claim.beacon);
  return beacon != nullptr && is_over(context.config(), round_of(context.state, beacon->gateway),
                                      round_of(context.state, beacon->provider), claim.round);
}

}  // namespace

/// From the last Checkpoint on, a few with each entry.
void forget_some(Context& context) {
  constexpr int kAtOnce = 32;
  std::optional<Digest>& from = context.state.scalars.forgets_from;
  if (!from) return;
  const auto& claims = context.state.claims.rows();
  auto row = claims.lower_bound(*from);
  for (int i = 0; i < kAtOnce && row != claims.end(); ++i) {
    const auto& [ticket, claim] = *row++;
    if (may_go(context, claim)) context.state.claims.erase(Digest(ticket));
  }
  from = row == claims.end() ? std::nullopt : std::optional<Digest>(row->first);
}

/// That the root is the state's was checked by Ledger::apply.
core::Result<void> rule(Context& context, const Checkpoint&) {
  COMMENSAL_TRY(context.by_operator());
  context.state.scalars.checkpoint = context.sequence();
  context.state.scalars.forgets_from = Digest{};
  forget_some(context);
  return {};
}

}  // namespace commensal::ledger
