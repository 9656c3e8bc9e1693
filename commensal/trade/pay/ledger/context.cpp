// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/pay/ledger/context.hpp>

namespace commensal::ledger {
namespace {

using core::ErrorCode;

void set_balance(State& state, const AccountId& account, const Amount& amount) {
  if (amount == Amount{}) {
    state.balances.erase(account);
  } else {
    state.balances.set(account, amount);
  }
}

/// What has left a stake was not locked all the time.
void shorten_bench(State& state, const Address& owner) {
  const BenchRow* const row = state.bench.find(owner);
  const Amount left = state.balance(owner, AccountKind::kStake);
  if (row == nullptr || row->stake <= left) return;
  if (left < state.scalars.config.auditor_stake || left == Amount()) {
    state.bench.erase(owner);
  } else {
    state.bench.set(owner, {row->since, left});
  }
}

}  // namespace

core::Result<void> not_zero(const Amount& amount) {
  if (amount != Amount{}) return {};
  return core::fail(ErrorCode::kInvalidArgument, "amount: 0, expected at least 1");
}

core::Result<void> Context::move(const AccountId& from, const AccountId& to, const Amount& amount) {
  if (amount == Amount{}) return {};
  // The row of kOutside is what is inside: money from there makes it grow.
  const auto change = [&](const AccountId& account, bool grows) -> core::Result<void> {
    const Amount before = state.balances.get(account);
    const auto after = grows ? before.plus(amount) : before.minus(amount);
    if (!after && !grows) {
      return core::fail(ErrorCode::kFailedPrecondition, "overdraft: {} has {}, {} was asked for",
                        to_text(account), protocol::to_text(before), protocol::to_text(amount));
    }
    if (!after) return tl::unexpected(after.error());
    set_balance(state, account, *after);
    return {};
  };
  COMMENSAL_TRY(change(from, from == kOutside));
  COMMENSAL_TRY(change(to, to != kOutside));
  if (from.kind == AccountKind::kStake) shorten_bench(state, from.owner);
  entry_.postings.push_back({from, to, amount});
  return {};
}

core::Result<Amount> Context::take_locked(const Address& owner, AccountKind kind,
                                          const AccountId& to, const Amount& amount) {
  Amount left = amount;
  const Amount here = std::min(left, state.balance(owner, kind));
  COMMENSAL_TRY(move({owner, kind}, to, here));
  left = *left.minus(here);
  const auto& rows = state.announcements.rows();
  for (auto row = rows.lower_bound({owner, 0}); left != Amount{} && row != rows.end();) {
    const auto [key, announced] = *row++;  // a copy: the row may go
    if (key.owner != owner) break;
    if (announced.from != kind) continue;
    const Amount taken = std::min(left, announced.amount);
    COMMENSAL_TRY(move({owner, AccountKind::kWithdrawing}, to, taken));
    Announcement rest = announced;
    rest.amount = *announced.amount.minus(taken);
    if (rest.amount == Amount{}) {
      state.announcements.erase(key);
    } else {
      state.announcements.set(key, rest);
    }
    left = *left.minus(taken);
  }
  return amount.minus(left);
}

core::Result<Amount> Context::locked(const Address& owner, AccountKind kind) const {
  Amount sum = state.balance(owner, kind);
  const auto& rows = state.announcements.rows();
  for (auto row = rows.lower_bound({owner, 0}); row != rows.end(); ++row) {
    if (row->first.owner != owner) break;
    if (row->second.from != kind) continue;
    COMMENSAL_ASSIGN(sum, sum.plus(row->second.amount));
  }
  return sum;
}

core::Result<void> Context::by_operator() const {
  if (sender() == config().operator_address) return {};
  return core::fail(ErrorCode::kPermissionDenied, "sender: {}, expected the operator {}",
                    crypto::to_text(sender()), crypto::to_text(config().operator_address));
}

}  // namespace commensal::ledger
