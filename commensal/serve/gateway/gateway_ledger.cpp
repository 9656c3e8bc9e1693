// SPDX-License-Identifier: Apache-2.0
// What people and providers ask of the ledger, what they are told of it, and how tickets stand.
#include <commensal/serve/gateway/affairs.hpp>
#include <commensal/serve/gateway/gateway_state.hpp>

namespace commensal::gateway {

namespace {

constexpr std::int64_t kRefusedMs = 1'000;

}  // namespace

void Gateway::State::tell_balance(const crypto::Address& provider, bool is_answer) {
  events.report(lottery.on_stake(provider));
  rpc::ProviderStream* const stream = roster.connected(provider);
  if (!lottery.is_on() || stream == nullptr) return;
  const ledger::State& state = bank.state();
  const ledger::Config& rules = state.scalars.config;
  const Covers::Cover cover = covers.tell(provider);
  stream->send(rpc::Balance{.ledger = bank.address(),
                            .nonce = state.nonces.get(provider),
                            .available = state.balance(provider, ledger::AccountKind::kAvailable),
                            .stake = state.balance(provider, ledger::AccountKind::kStake),
                            .stake_wanted = config.money.stake_min,
                            .reveal_delay_ms = rules.reveal_delay_ms,
                            .audit_delay_ms = rules.audit_delay_ms,
                            .auditor_fee = rules.auditor_fee,
                            .escrow = cover.escrow,
                            .penalty_escrow = cover.penalty_escrow,
                            .owed = cover.owed,
                            .is_answer = is_answer});
}

void Gateway::State::tell_covers(bool at_once) {
  for (const crypto::Address& provider : covers.stale(at_once)) tell_balance(provider);
}

core::Result<void> Gateway::State::check_auditor(const crypto::Address& auditor) const {
  const protocol::Amount needed = bank.state().scalars.config.auditor_stake;
  const protocol::Amount stake = bank.state().balance(auditor, ledger::AccountKind::kStake);
  const auto missing = needed.minus(stake);
  if (!missing || *missing == protocol::Amount()) return {};
  return core::fail(core::ErrorCode::kPermissionDenied,
                    "auditor {0} has a stake of {1} here, {2} answer for a report: the operator "
                    "books it in (account deposit {0} {3} --yes), then the auditor locks it (stake "
                    "lock {3} --data-dir FOLDER)",
                    crypto::to_text(auditor), to_text(stake), to_text(needed), to_text(*missing));
}

core::Result<void> Gateway::State::check_transact(const ledger::Transaction& transaction,
                                                  const crypto::Address& provider) {
  COMMENSAL_TRY(check_providers(bank.state(), transaction, provider));
  if (const auto* unjudged = std::get_if<ledger::Mature>(&transaction.body)) {
    COMMENSAL_TRY(winners.check_mature(provider, unjudged->ticket));
  }
  return transactions.admit_own(transaction);
}

void Gateway::State::handle(StreamId stream, const rpc::Transact& message) {
  const Roster::Peer* peer = roster.at(stream);
  if (peer == nullptr) return;
  const crypto::Address provider = peer->address;
  const auto sent = protocol::decode<ledger::Transaction>(message.transaction);
  if (!sent) return events.report(sent);
  const auto allowed = check_transact(*sent, provider);
  events.report(allowed);
  const auto key = case_of(*sent);
  if (!allowed) {
    // What it has to know before it sends another; it sends that at once.
    return loop.after(kRefusedMs, [this, stream, provider, key] {
      if (roster.at(stream) != nullptr) tell_balance(provider, true);
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
    if (const auto* unjudged = std::get_if<ledger::Mature>(&sent->body)) {
      COMMENSAL_ASSIGN(outcome, winners.on_mature(unjudged->ticket));
    }
    if (!booked) return tl::unexpected(booked.error());
    return {};
  });
  events.report(done);
  if (!done && key) accusations.on_refused(stream, *key);
  if (outcome) peer->stream->send(rpc::Outcomes{{*outcome}});
  audit_policy.on_change(provider);
  tell_balance(provider, true);
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
  // Not before it is on disk, though this may be a part of what becomes durable together.
  state_->loop.post([state = state_.get(), owner] { state->tell_balance(owner); });
  return {};
}

core::Result<void> Gateway::fund(ledger::AccountKind into, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->bank.submit(ledger::Fund{into, amount}));
  COMMENSAL_TRY(state_->bank.commit());
  state_->loop.post([state = state_.get()] { state->tell_covers(true); });
  return {};
}

core::Result<void> Gateway::grant(const crypto::Address& owner, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->bank.submit(ledger::GrantCredit{owner, amount}));
  return state_->bank.commit();
}

core::Result<void> Gateway::withdraw(const std::string& account, const protocol::Amount& amount) {
  COMMENSAL_TRY(state_->till.withdraw(account, amount));
  return state_->bank.commit();
}

core::Result<void> Gateway::disclose(const core::Digest& receipt, const core::Digest& nonce) {
  COMMENSAL_TRY(state_->bank.submit(ledger::Disclose{receipt, nonce}));
  return state_->bank.commit();
}

void Gateway::transact(ledger::Transaction transaction, Transactions::Done done) {
  if (auto allowed = check_strangers(ledger(), transaction); !allowed) {
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

ClaimDesk& Gateway::claims() { return state_->claim_desk; }

const MoneyConfig& Gateway::money() const { return state_->config.money; }

}  // namespace commensal::gateway
