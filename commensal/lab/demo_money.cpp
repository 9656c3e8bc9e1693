// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/lab/demo_money.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <thread>

namespace commensal::lab {

using ledger::AccountKind;
using protocol::Amount;

namespace {

constexpr int kStakeWaits = 200;
constexpr auto kStakeWait = std::chrono::milliseconds(25);

core::Digest reference(std::string_view of) {
  return crypto::tagged_hash("commensal/demo/deposit", core::as_bytes(of));
}

}  // namespace

core::Result<void> DemoPurses::fund(daemon::GatewayDaemon& gateway, const sim::Terms& terms,
                                    const crypto::Address& consumer, std::size_t providers) {
  core::Result<void> done;
  gateway.ask([&](gateway::Gateway& live) {
    done = [&]() -> core::Result<void> {
      COMMENSAL_TRY(live.deposit(consumer, terms.consumer_deposit, reference("consumer")));
      COMMENSAL_TRY(live.deposit(live.address(), terms.gateway_escrow, reference("gateway")));
      COMMENSAL_TRY(live.fund(AccountKind::kEscrow, terms.gateway_escrow));
      for (const auto& info : live.providers()) {
        const core::Digest paid = reference(crypto::to_text(info.address));
        COMMENSAL_TRY(live.deposit(info.address, terms.provider.stake, paid));
      }
      return {};
    }();
  });
  COMMENSAL_TRY(done);
  for (int i = 0; i < kStakeWaits; ++i) {
    std::size_t staked = 0;
    gateway.ask([&](gateway::Gateway& live) {
      for (const auto& info : live.providers()) {
        const Amount stake = live.ledger().balance(info.address, AccountKind::kStake);
        staked += stake >= terms.gateway.stake_min ? 1 : 0;
      }
    });
    if (staked == providers) {
      before_ = balances_of(gateway);
      return {};
    }
    std::this_thread::sleep_for(kStakeWait);
  }
  return core::fail(core::ErrorCode::kUnavailable, "the providers did not lock their stakes");
}

DemoPurses::Balances DemoPurses::balances_of(daemon::GatewayDaemon& gateway) {
  Balances found;
  gateway.ask([&](gateway::Gateway& live) { found = live.ledger().balances.rows(); });
  return found;
}

std::string DemoPurses::owner_of(const ledger::AccountId& account) const {
  const auto found = names_.find(account.owner);
  if (found != names_.end()) return found->second;
  return account == ledger::kOutside || account == ledger::kBurnt ? "nobody"
                                                                  : crypto::to_text(account.owner);
}

DemoMoney DemoPurses::report(daemon::GatewayDaemon& gateway, const sim::Terms& terms) const {
  DemoMoney made;
  made.price = to_text(terms.gateway.price);
  made.face_value = to_text(terms.gateway.face_value);
  gateway.ask([&](gateway::Gateway& live) {
    made.rules = live.ledger().scalars.config;
    const ticket::Totals& totals = live.tickets().totals();
    made.tickets_issued = totals.issued;
    made.tickets_won = totals.won;
    made.tickets_paid = totals.paid;
    made.tickets_expected = to_text(totals.expected);
    made.tickets_value_won = to_text(totals.value_won);
    made.conserved = ledger::check_all(live.ledger()).has_value();
    made.journal_entries = live.ledger().scalars.entries;
  });
  const Balances after = balances_of(gateway);
  Balances all = before_;
  all.insert(after.begin(), after.end());
  const auto at = [](const Balances& from, const ledger::AccountId& id) {
    const auto found = from.find(id);
    return to_text(found == from.end() ? Amount() : found->second);
  };
  for (const auto& [id, unused] : all) {
    const auto kind = protocol::name_of(id.kind);
    made.balances.push_back({owner_of(id), std::string(kind), at(before_, id), at(after, id)});
  }
  return made;
}

}  // namespace commensal::lab
