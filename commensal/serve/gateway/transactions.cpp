// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/transactions.hpp>
#include <utility>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

/// Keys cost nothing, and each that sends something is kept for ever. Who has lost all has its hash
/// chain here, which its stake once brought in: it may ask for what its tickets are owed.
Result<void> check_owns(const ledger::State& state, const crypto::Address& sender) {
  const auto row = state.balances.rows().lower_bound({sender, ledger::AccountKind::kAvailable});
  if (row != state.balances.rows().end() && row->first.owner == sender) return {};
  if (state.chains_of.get(sender) > 0) return {};
  return fail(ErrorCode::kPermissionDenied,
              "sender: {0} has nothing in this ledger before its operator books something in "
              "(account deposit {0} AMOUNT --yes)",
              crypto::to_text(sender));
}

}  // namespace

Result<void> Transactions::admit(const ledger::Transaction& transaction) {
  const crypto::Address& sender = transaction.sender;
  COMMENSAL_TRY(check_owns(bank_.state(), sender));
  // What somebody says again of what another has said costs that one nothing.
  if (transaction.nonce < bank_.state().nonces.get(sender)) return {};
  return rate(transaction);
}

Result<void> Transactions::admit_own(const ledger::Transaction& transaction) {
  COMMENSAL_TRY(check_owns(bank_.state(), transaction.sender));
  return rate(transaction);
}

/// Moves of a dispute follow each other as fast as both sides are.
Result<void> Transactions::rate(const ledger::Transaction& transaction) {
  const auto* const move = std::get_if<ledger::Argue>(&transaction.body);
  const ledger::CaseRow* const row =
      move == nullptr ? nullptr : bank_.state().cases.find({move->subject, move->accuser});
  const bool is_under_way = row != nullptr && row->status == ledger::CaseStatus::kContested;
  auto& rates = is_under_way ? moves_ : rates_;
  if (rates.take(transaction.sender, clock_.monotonic_ns())) return {};
  return fail(ErrorCode::kResourceExhausted,
              "{} has sent more than the {} transactions a second that one sender may",
              crypto::to_text(transaction.sender), rates.per_s());
}

void Transactions::submit(ledger::Transaction transaction, Done done) {
  if (waiting_.size() >= limits::kTransactionsWaitingMax) {
    return done(
        fail(ErrorCode::kResourceExhausted, "{} transactions wait, no more may", waiting_.size()));
  }
  if (auto allowed = admit(transaction); !allowed) return done(tl::unexpected(allowed.error()));
  waiting_.push_back({std::move(transaction), std::move(done)});
  if (waiting_.size() == 1) loop_.post([this] { book_all(); });
}

void Transactions::book_all() {
  const std::vector<Waiting> batch = std::exchange(waiting_, {});
  std::vector<Result<crypto::Address>> outcomes;
  const auto written = bank_.durably([&]() -> Result<void> {
    for (const Waiting& one : batch) {
      const auto booked = bank_.relay(one.transaction);
      outcomes.push_back(booked ? Result<crypto::Address>(one.transaction.sender)
                                : tl::unexpected(booked.error()));
    }
    return {};
  });
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool is_lost = outcomes[i] && !written;
    batch[i].done(is_lost ? tl::unexpected(written.error()) : std::move(outcomes[i]));
  }
}

}  // namespace commensal::gateway
