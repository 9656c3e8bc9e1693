// SPDX-License-Identifier: Apache-2.0
// What answers cost and earn: debits, rounds, winners, and what the ledger's people are told.
#include <commensal/serve/gateway/affairs.hpp>
#include <commensal/serve/gateway/gateway_state.hpp>

namespace commensal::gateway {

Lottery::World Gateway::State::lottery_world() {
  return {
      .store = store,
      .clock = world.clock,
      .rng = world.rng,
      .key = world.key,
      .bank = bank,
      .send =
          [this](const crypto::Address& provider, rpc::ToProvider message) {
            if (auto* const link = roster.connected(provider)) link->send(std::move(message));
          },
      .is_there =
          [this](const crypto::Address& provider) { return roster.connected(provider) != nullptr; },
      .was_delivered =
          [this](const core::Digest& receipt) {
            return chains.has_winner(receipt) || book.find(receipt).has_value();
          },
      .audit =
          [this](const core::Digest& receipt) {
            return chains.has_winner(receipt) ? chains.audit_winner(receipt, false)
                                              : audit_winner(receipt);
          },
      .audit_alone =
          [this](const core::Digest& receipt) {
            return chains.has_winner(receipt) ? chains.audit_winner(receipt, true)
                                              : audit_alone(receipt);
          },
      .report = [this](const core::Error& error) { observer.on_error(error); }};
}

void Gateway::State::tick() {
  if (!lottery.is_on()) return;
  world.loop.after(config.money.round_ms, [this, still = std::weak_ptr(alive)] {
    if (still.expired()) return;
    lottery.tick();
    tick();
  });
}

/// Before a request is taken up: that it can be paid for, and what it may win too.
core::Result<void> Gateway::State::admit(const std::string& account) {
  COMMENSAL_TRY(lottery.cover());
  if (config.money.price == protocol::Amount()) return {};
  const auto found = unpaid.find(account);
  const std::uint64_t requests = (found == unpaid.end() ? 0 : found->second) + 1;
  COMMENSAL_ASSIGN(const protocol::Amount needed,
                   config.money.price.times(protocol::Amount(requests)));
  if (bank.can_pay(account, needed)) return {};
  return core::fail(core::ErrorCode::kResourceExhausted,
                    "account '{}' can't pay {} for what it has under way, {} each", account,
                    to_text(needed), to_text(config.money.price));
}

/// Receipts and what was paid for them are on disk together or not at all.
core::Result<void> Gateway::State::write(std::vector<ReceiptRecord>& records) {
  return bank.durably([&]() -> core::Result<void> {
    COMMENSAL_TRY(book.append(records));
    for (const ReceiptRecord& record : records) {
      if (!record.charged || config.money.price == protocol::Amount()) continue;
      const protocol::Job& job = record.receipt.job;
      COMMENSAL_TRY(
          bank.debit(record.account, config.money.price, job.provider, protocol::job_id(job)));
    }
    return {};
  });
}

/// Takes a verdict to the ledger, if the receipt is an open winner there.
core::Result<void> Gateway::State::judge_winner(const ReceiptRecord& record) {
  COMMENSAL_ASSIGN(const auto judged, lottery.judge(record.receipt, *record.verdict));
  if (!judged) return {};
  observer.on_judged(record, *judged);
  tell_balance(record.receipt.job.provider);
  return {};
}

core::Result<void> Gateway::State::audit_winner(const core::Digest& receipt) {
  COMMENSAL_ASSIGN(ReceiptRecord record, book.find(receipt));
  if (record.verdict) {  // audited before its draw
    COMMENSAL_TRY(judge_winner(record));
    if (is_penalised(record)) consequences.add(record.id());
    return {};
  }
  if (record.audit != AuditState::kNotDrawn) return {};
  record.audit = AuditState::kDrawn;
  COMMENSAL_TRY(book.update(record));
  auditor.request(record);
  return {};
}

/// What was opened in the ledger before a kill: perhaps its audit was not drawn yet, or its verdict
/// had not reached the ledger.
void Gateway::State::resume_winners() {
  for (const ticket::Record& one : lottery.tickets().in(ticket::State::kOpened)) {
    const core::Digest receipt = protocol::receipt_id(one.body);
    const auto record = book.find(receipt);
    if (!record) continue;  // never delivered
    if (!record->verdict) {
      report(audit_winner(receipt));
      continue;
    }
    report(judge_winner(*record));
  }
}

/// Cards do flip bits: who has paid for a first mismatch goes on.
bool Gateway::State::is_penalised(const ReceiptRecord& record) const {
  const core::Digest ticket = protocol::ticket_id(record.receipt.body());
  const ticket::Record* const found = lottery.tickets().find(ticket);
  return found != nullptr && found->state == ticket::State::kPenalised;
}

/// Nobody is asked any more, but what is open in the ledger must be judged, or it would be paid.
void Gateway::State::conclude_winners(const crypto::Address& provider) {
  for (const ticket::Record& one : lottery.tickets().in(ticket::State::kOpened)) {
    auto record = book.find(protocol::receipt_id(one.body));
    if (record && record->receipt.job.provider == provider) audit_ourselves(*record);
  }
}

/// From what was delivered, instead of what its provider would show.
void Gateway::State::audit_ourselves(const ReceiptRecord& record) {
  auditor.request(record);
  auditor.on_open_reply(record.receipt.job.provider, {record.id(), record.opening});
}

/// A kill may have come between the winner's opening and its audit's beginning.
core::Result<void> Gateway::State::audit_alone(const core::Digest& receipt) {
  COMMENSAL_TRY(audit_winner(receipt));
  COMMENSAL_ASSIGN(const ReceiptRecord record, book.find(receipt));
  audit_ourselves(record);
  return {};
}

void Gateway::State::tell_balance(const crypto::Address& provider) {
  rpc::ProviderLink* const link = roster.connected(provider);
  if (!lottery.is_on() || link == nullptr) return;
  const ledger::State& state = bank.state();
  link->send(rpc::Balance{bank.address(), state.nonces.get(provider),
                          state.balance(provider, ledger::AccountKind::kAvailable),
                          state.balance(provider, ledger::AccountKind::kStake),
                          config.money.stake_min, state.scalars.config.reveal_delay_ms});
}

void Gateway::State::handle(LinkId link, const rpc::Transact& message) {
  const Roster::Peer* peer = roster.at(link);
  if (peer == nullptr) return;
  std::optional<rpc::Outcomes::Item> outcome;
  report(bank.durably([&]() -> core::Result<void> {
    COMMENSAL_ASSIGN(const auto sent, protocol::decode<ledger::Transaction>(message.transaction));
    COMMENSAL_TRY(check_providers(sent, peer->address));
    const auto booked = bank.relay(sent);
    // Refused perhaps because it was booked before, and nobody heard of it.
    if (const auto* claimed = std::get_if<ledger::Default>(&sent.body)) {
      COMMENSAL_ASSIGN(outcome, lottery.on_default(claimed->receipt));
    }
    if (!booked) return tl::unexpected(booked.error());
    return {};
  }));
  if (outcome) peer->link->send(rpc::Outcomes{{*outcome}});
  desk.on_change(peer->address);
  tell_balance(peer->address);
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

}  // namespace commensal::gateway
