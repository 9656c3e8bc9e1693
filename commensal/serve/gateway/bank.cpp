// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/dispute_ends.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>

namespace commensal::gateway {

using ledger::AccountKind;
using protocol::Amount;

namespace {

/// How often `price` goes into `amount`, at most `most` times.
std::uint64_t times_within(const Amount& amount, const Amount& price, std::uint64_t most) {
  std::uint64_t low = 0, high = most;
  while (low < high) {
    const std::uint64_t middle = high - (high - low) / 2;
    const auto sum = price.times(Amount(middle));
    const bool fits = sum && *sum <= amount;
    low = fits ? middle : low;
    high = fits ? high : middle - 1;
  }
  return low;
}

}  // namespace

core::Result<void> Bank::open() {
  COMMENSAL_ASSIGN(auto book,
                   ledger::Book::open(store_, signatures_,
                                      {.checkpoint_entries = checkpoint_entries_}, &arbiter_));
  book_.emplace(std::move(book));
  if (state().scalars.entries > 0) return {};
  ledger::Config rules = rules_;
  rules.operator_address = address_;
  COMMENSAL_TRY(submit(ledger::Genesis{rules}));
  COMMENSAL_TRY(submit(ledger::AdmitAuditor{auditor_key().address()}));
  return commit();
}

crypto::SecretKey Bank::derived_key(std::string_view use, std::string_view name) const {
  const core::Digest secret = crypto::tagged_hash(use, key_.bytes(), core::as_bytes(name));
  auto key = crypto::SecretKey::from_bytes(secret);
  core::check(key.has_value(), "one hash in 2^128 is no key");
  return *std::move(key);
}

crypto::Address Bank::address_of(const std::string& account) const {
  return key_of(account).address();
}

std::int64_t Bank::now_ms() const {
  return std::max(clock_.wall_ms(), static_cast<std::int64_t>(state().scalars.time_ms));
}

core::Result<ledger::Entry> Bank::stage(const crypto::SecretKey& key, ledger::Body body) {
  ledger::Transaction made;
  made.chain_id = rules_.chain_id;
  made.ledger = address_;
  made.sender = key.address();
  made.nonce = state().nonces.get(made.sender);
  made.body = std::move(body);
  ledger::sign(key, made);
  return book(made);
}

core::Result<ledger::Entry> Bank::book(const ledger::Transaction& transaction) {
  const auto* const move = std::get_if<ledger::Argue>(&transaction.body);
  auto booked = move ? book_move(transaction, *move) : book_->stage(transaction, now_ms());
  if (booked && heard_) heard_(*booked);
  return booked;
}

/// With the last move of a dispute the ledger forgets all of them: where that led to is kept.
core::Result<ledger::Entry> Bank::book_move(const ledger::Transaction& transaction,
                                            const ledger::Argue& move) {
  const ledger::CaseKey key{move.subject, move.accuser};
  std::vector<ledger::Arbiter::Said> moves = ledger::moves_of(state(), key);
  COMMENSAL_ASSIGN(ledger::Entry booked, book_->stage(transaction, now_ms()));
  const ledger::CaseRow row = state().cases.get(key);
  if (row.status == ledger::CaseStatus::kContested) return booked;
  moves.push_back({transaction.sender == key.accuser, move.move});
  const auto place = arbiter_.place(row.dispute, moves);
  if (place) COMMENSAL_TRY(DisputeEnds(store_).keep(key, *place));
  return booked;
}

core::Result<std::optional<cases::Place>> Bank::place_of(const ledger::CaseKey& key) {
  const ledger::CaseRow* const row = state().cases.find(key);
  if (row == nullptr) return std::nullopt;
  if (row->status != ledger::CaseStatus::kContested) return DisputeEnds(store_).find(key);
  return arbiter_.place(row->dispute, ledger::moves_of(state(), key));
}

core::Result<ledger::Entry> Bank::submit(ledger::Body body) { return stage(key_, std::move(body)); }

core::Result<ledger::Entry> Bank::relay(const ledger::Transaction& transaction) {
  return book(transaction);
}

/// Each debit is paid by one of the two balances, credit first.
bool Bank::can_pay(const std::string& account, const Amount& price, std::uint64_t times,
                   const Amount& spare) const {
  const crypto::Address payer = address_of(account);
  const auto left = state().balance(payer, AccountKind::kAvailable).minus(spare);
  if (!left) return false;
  const std::uint64_t by_credit =
      times_within(state().balance(payer, AccountKind::kCredit), price, times);
  return by_credit + times_within(*left, price, times) >= times;
}

core::Result<void> Bank::debit(const std::string& account, const Amount& amount,
                               const crypto::Address& provider, const core::Digest& request) {
  const crypto::SecretKey key = key_of(account);
  ledger::Debit debit;
  debit.payer = key.address();
  debit.payee = address_;
  debit.from = state().balance(debit.payer, AccountKind::kCredit) >= amount
                   ? AccountKind::kCredit
                   : AccountKind::kAvailable;
  debit.amount = amount;
  debit.provider = provider;
  debit.request = request;
  COMMENSAL_TRY(stage(key, std::move(debit)));
  return {};
}

core::Result<void> Bank::withdraw(const std::string& account, const Amount& amount) {
  COMMENSAL_TRY(stage(key_of(account), ledger::Withdraw{amount}));
  return {};
}

core::Result<void> Bank::commit() {
  COMMENSAL_TRY(book_->commit());
  if (!book_->checkpoint_is_due()) return {};
  COMMENSAL_TRY(submit(ledger::Checkpoint{book_->root()}));
  return book_->commit();
}

core::Result<void> Bank::durably(const std::function<core::Result<void>()>& change) {
  return store_.together([&]() -> core::Result<void> {
    auto done = change();
    auto committed = commit();
    return done ? committed : done;
  });
}

}  // namespace commensal::gateway
