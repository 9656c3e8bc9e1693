// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/context.hpp>

namespace commensal::ledger {

enum class Offence : std::uint8_t {
  kMismatch,  // an isolated one, of a provider with a long record of right answers
  kPattern,   // any other
  kSilence,
  kWithheldReveal,
  kGatewayDefault,
  kFalseReport,  // of an auditor; others computed something else
};

/// Of the stake, in thousandths: what the least of wrong answers costs. Whoever reckons with a
/// loss (risk::Policy::lost_share) has it from here.
inline constexpr std::uint32_t kIsolatedMismatchPm = 500;

/// Of Config::auditor_stake, in thousandths: what who is drawn and says nothing loses.
inline constexpr std::uint32_t kAbsenceCostPm = 50;

/// What an offence costs. Part of everything is burnt: else punishing oneself would be a way around
/// the withdrawal delay.
struct OffenceRow {
  Offence offence;
  AccountKind account;     // what answers for it, announced withdrawals included
  std::uint32_t cost_pm;   // of what is locked there, in thousandths; never less than the config's
                           // penalty, never more than there is
  std::uint32_t burnt_pm;  // of the cost
  bool bounty;             // the accuser gets one; the rest goes to who was harmed
};
std::span<const OffenceRow> offence_table();

/// `finder` is nobody where no accusation led to it. Returns what was taken.
core::Result<Amount> punish(Context& context, Offence offence, const Address& offender,
                            const Address& harmed, const Address* finder = nullptr);

/// Whether the next wrong answer of this provider is an isolated one, of a long record.
bool is_isolated(const State& state, const Address& provider);
/// For a wrong answer, by the provider's record. Who has none yet has none to lose: a new key's
/// first wrong answer costs all of its stake. `finder` is nobody where nobody gets a bounty.
core::Result<void> punish_mismatch(Context& context, const Address& provider, const Address& harmed,
                                   const Address* finder);

/// floor(amount * thousandths / 1000). Precondition: at most 1000 thousandths.
Amount share_of(const Amount& amount, std::uint32_t thousandths);

}  // namespace commensal::ledger
