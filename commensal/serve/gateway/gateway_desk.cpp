// SPDX-License-Identifier: Apache-2.0
// What people ask of the ledger: the operator's orders, transactions that others have signed, and
// how tickets stand.
#include <commensal/serve/gateway/affairs.hpp>
#include <commensal/serve/gateway/gateway_state.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;

namespace {

bool has_something(const ledger::State& state, const crypto::Address& owner) {
  const auto row = state.balances.rows().lower_bound({owner, ledger::AccountKind::kAvailable});
  return row != state.balances.rows().end() && row->first.owner == owner;
}

}  // namespace

core::Result<void> Gateway::grant(const crypto::Address& owner, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->bank.submit(ledger::GrantCredit{owner, amount}));
  return state_->bank.commit();
}

core::Result<void> Gateway::withdraw(const std::string& account, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->bank.withdraw(account, amount));
  return state_->bank.commit();
}

core::Result<crypto::Address> Gateway::transact(core::ByteView transaction) {
  COMMENSAL_ASSIGN(const auto decoded, protocol::decode<ledger::Transaction>(transaction));
  COMMENSAL_TRY(check_strangers(decoded));
  if (!has_something(state_->bank.state(), decoded.sender)) {
    return fail(ErrorCode::kPermissionDenied, "sender: {} has nothing in this ledger",
                crypto::to_text(decoded.sender));
  }
  COMMENSAL_TRY(state_->bank.relay(decoded));
  COMMENSAL_TRY(state_->bank.commit());
  state_->tell_balance(decoded.sender);
  return decoded.sender;
}

ticket::Summary Gateway::ticket_summary(const std::optional<crypto::Address>& provider) const {
  const ledger::State& state = state_->bank.state();
  std::set<core::Digest> beacons;
  for (const auto& [id, row] : state.beacons.rows()) {
    const ledger::ChainRow* const chain = state.chains.find(row.provider);
    if (chain != nullptr && chain->head.owner == provider) beacons.insert(id);
  }
  const auto now_ms = static_cast<std::uint64_t>(state_->world.clock.wall_ms());
  return ticket::summarise(tickets(), now_ms, [&](const ticket::Record& record) {
    return !provider || beacons.contains(record.beacon);
  });
}

const MoneyConfig& Gateway::money() const { return state_->config.money; }

}  // namespace commensal::gateway
