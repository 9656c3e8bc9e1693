// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>

namespace commensal::ledger {
namespace {

constexpr OffenceRow kOffences[] = {
    {Offence::kMismatch, AccountKind::kStake, kIsolatedMismatchPm, 500, false},
    {Offence::kPattern, AccountKind::kStake, 1000, 500, true},
    {Offence::kSilence, AccountKind::kStake, 200, 500, false},
    {Offence::kWithheldReveal, AccountKind::kStake, 200, 500, false},
    {Offence::kGatewayDefault, AccountKind::kPenaltyEscrow, 0, 500, false},
    {Offence::kFalseReport, AccountKind::kStake, 1000, 500, false},
};

}  // namespace

std::span<const OffenceRow> offence_table() { return kOffences; }

Amount share_of(const Amount& amount, std::uint32_t thousandths) {
  core::check(thousandths <= 1000, "a share above the whole");
  __extension__ using Units = unsigned __int128;
  const Units units = static_cast<Units>(amount.high()) << 64 | amount.low();
  const Units share = units / 1000 * thousandths + units % 1000 * thousandths / 1000;
  return Amount::from_words(static_cast<std::uint64_t>(share >> 64),
                            static_cast<std::uint64_t>(share));
}

core::Result<Amount> punish(Context& context, Offence offence, const Address& offender,
                            const Address& harmed, const Address* finder) {
  const auto* row = std::ranges::find(kOffences, offence, &OffenceRow::offence);
  core::check(row != std::end(kOffences), "an offence without a row in the table");
  COMMENSAL_ASSIGN(const Amount locked, context.locked(offender, row->account));
  const Amount cost =
      std::min(locked, std::max(context.config().penalty, share_of(locked, row->cost_pm)));
  const auto take = [&](const AccountId& to, const Amount& amount) {
    return context.take_locked(offender, row->account, to, amount);
  };
  // The odd unit is burnt: kept by nobody.
  const Amount kept = share_of(cost, 1000 - row->burnt_pm);
  COMMENSAL_TRY(take(kBurnt, *cost.minus(kept)));
  Amount bounty;
  if (row->bounty && finder != nullptr) {
    bounty = std::min(kept, context.config().auditor_bounty);
    COMMENSAL_TRY(take({*finder, AccountKind::kAvailable}, bounty));
  }
  COMMENSAL_TRY(take({harmed, AccountKind::kAvailable}, *kept.minus(bounty)));
  return cost;
}

bool is_isolated(const State& state, const Address& provider) {
  const AuditRecord record = state.audits.get(provider);
  const Config& config = state.scalars.config;
  return record.mismatches + 1 < config.pattern_mismatches &&
         record.matches >= config.pardon_matches;
}

core::Result<void> punish_mismatch(Context& context, const Address& provider, const Address& harmed,
                                   const Address* finder) {
  const bool isolated = is_isolated(context.state, provider);
  context.state.audits.set(provider, {context.state.audits.get(provider).mismatches + 1, 0});
  COMMENSAL_TRY(
      punish(context, isolated ? Offence::kMismatch : Offence::kPattern, provider, harmed, finder));
  return {};
}

}  // namespace commensal::ledger
