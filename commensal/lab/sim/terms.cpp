// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/sim/terms.hpp>

namespace commensal::sim {

using protocol::Amount;

Terms play_terms(double audit_probability, int requests) {
  Terms terms;
  gateway::MoneyConfig& money = terms.gateway;
  money.win_probability = audit_probability;
  money.face_value = Amount(100'000);
  // What a ticket is worth, the auditor's fee, and something for the gateway.
  money.price = Amount(static_cast<std::uint64_t>(110'000 * audit_probability) + 1'000);
  money.stake_min = Amount(1'000'000);
  money.round_ms = 100;
  money.hash_chain_depth = 18;
  money.rules.auditor_fee = Amount(1'000);
  money.rules.auditor_bounty = Amount(100'000);
  money.rules.penalty = Amount(100'000);
  money.rules.accusation_bond = Amount(1'000);
  money.rules.auditor_stake = money.stake_min;
  terms.provider.stake = money.stake_min;
  terms.provider.hash_chain_depth = 18;
  // The price of all; and winners, many more than expected, also of answers computed again.
  const auto count = static_cast<std::uint64_t>(requests);
  const double winners = 2.0 * requests * std::min(1.0, audit_probability + 0.2);
  terms.consumer_deposit = Amount(std::max<std::uint64_t>(10'000'000, money.price.low() * count));
  terms.gateway_escrow =
      Amount(std::max<std::uint64_t>(20'000'000, 101'000 * static_cast<std::uint64_t>(winners)));
  return terms;
}

}  // namespace commensal::sim
