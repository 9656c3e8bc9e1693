// SPDX-License-Identifier: Apache-2.0
// What people and providers ask of the ledger, what they are told of it, and how tickets stand.
#include <commensal/serve/gateway/affairs.hpp>
#include <commensal/serve/gateway/gateway_state.hpp>

namespace commensal::gateway {

namespace {

constexpr std::int64_t kRefusedMs = 1'000;

}  // namespace

void Gateway::State::tell_balance(const crypto::Address& provider) {
  events.report(lottery.on_stake(provider));
  rpc::ProviderStream* const stream = roster.connected(provider);
  if (!lottery.is_on() || stream == nullptr) return;
  const ledger::State& state = bank.state();
  stream->send(rpc::Balance{bank.address(), state.nonces.get(provider),
                            state.balance(provider, ledger::AccountKind::kAvailable),
                            state.balance(provider, ledger::AccountKind::kStake),
                            config.money.stake_min, state.scalars.config.reveal_delay_ms});
}

void Gateway::State::handle(StreamId stream, const rpc::Transact& message) {
  const Roster::Peer* peer = roster.at(stream);
  if (peer == nullptr) return;
  const crypto::Address provider = peer->address;
  const auto sent = protocol::decode<ledger::Transaction>(message.transaction);
  if (!sent) return events.report(sent);
  const auto allowed =
      check_providers(*sent, provider).and_then([&] { return transactions.admit_own(*sent); });
  events.report(allowed);
  const auto key = case_of(*sent);
  if (!allowed) {
    // What it has to know before it sends another; it sends that at once.
    return loop.after(kRefusedMs, [this, stream, provider, key] {
      tell_balance(provider);
      if (key) accusations.on_refused(stream, *key);
    });
  }
  std::optional<rpc::Outcomes::Item> outcome;
  const auto done = bank.durably([&]() -> core::Result<void> {
    const auto booked = bank.relay(*sent);
    // Refused perhaps because it was booked before, and nobody heard of it.
    if (const auto* claimed = std::get_if<ledger::Default>(&sent->body)) {
      COMMENSAL_ASSIGN(outcome, winners.on_default(claimed->receipt));
    }
    if (!booked) return tl::unexpected(booked.error());
    return {};
  });
  events.report(done);
  if (!done && key) accusations.on_refused(stream, *key);
  if (outcome) peer->stream->send(rpc::Outcomes{{*outcome}});
  audit_policy.on_change(provider);
  tell_balance(provider);
}

const ledger::State& Gateway::ledger() const { return state_->bank.state(); }
const ticket::TicketBook& Gateway::tickets() const { return state_->lottery.tickets(); }
crypto::Address Gateway::auditor_address() const { return state_->auditor_key.address(); }
std::size_t Gateway::tickets_pending() const { return state_->lottery.pending(); }

crypto::Address Gateway::account_address(const std::string& account) const {
  return state_->bank.address_of(account);
}

core::Result<void> Gateway::deposit(const crypto::Address& owner, const protocol::Amount& amount,
                                    const core::Digest& reference) {
  ledger::Deposit deposit;
  deposit.owner = owner;
  deposit.amount = amount;
  deposit.reference = reference;
  COMMENSAL_TRY(state_->bank.submit(std::move(deposit)));
  COMMENSAL_TRY(state_->bank.commit());
  state_->tell_balance(owner);
  return {};
}

core::Result<void> Gateway::fund(ledger::AccountKind into, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->bank.submit(ledger::Fund{into, amount}));
  return state_->bank.commit();
}

core::Result<void> Gateway::grant(const crypto::Address& owner, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->bank.submit(ledger::GrantCredit{owner, amount}));
  return state_->bank.commit();
}

core::Result<void> Gateway::withdraw(const std::string& account, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->till.withdraw(account, amount));
  return state_->bank.commit();
}

void Gateway::transact(ledger::Transaction transaction, Transactions::Done done) {
  if (auto allowed = check_strangers(transaction); !allowed) {
    return done(tl::unexpected(allowed.error()));
  }
  state_->transactions.submit(
      std::move(transaction),
      [state = state_.get(), done = std::move(done)](core::Result<crypto::Address> sender) {
        if (sender) state->tell_balance(*sender);
        done(std::move(sender));
      });
}

ticket::Summary Gateway::ticket_summary(const std::optional<crypto::Address>& provider) const {
  const ledger::State& state = state_->bank.state();
  const auto is_meant = [&](const core::Digest& beacon) {
    if (!provider) return true;
    const ledger::BeaconRow* const row = state.beacons.find(beacon);
    const auto* const chain = row == nullptr ? nullptr : state.hash_chains.find(row->provider);
    return chain != nullptr && chain->head.owner == *provider;
  };
  const auto now_ms = static_cast<std::uint64_t>(state_->deps.clock.wall_ms());
  return ticket::summarise(tickets(), now_ms, is_meant);
}

const MoneyConfig& Gateway::money() const { return state_->config.money; }

}  // namespace commensal::gateway
