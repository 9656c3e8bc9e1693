// SPDX-License-Identifier: Apache-2.0
// Plain money: in, out, locked, spent.
#include <algorithm>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/trade/pay/ledger/rules.hpp>
#include <limits>

namespace commensal::ledger {

using core::ErrorCode;
using core::fail;
using core::Result;

Result<void> rule(Context& context, const Genesis& body) {
  // Ledger::apply has seen to it that there is no entry before.
  if (context.sender() != body.config.operator_address) {
    return fail(ErrorCode::kPermissionDenied, "sender: {}, expected the operator {}",
                crypto::to_text(context.sender()), crypto::to_text(body.config.operator_address));
  }
  context.state.scalars.config = body.config;
  return {};
}

Result<void> rule(Context& context, const Deposit& body) {
  COMMENSAL_TRY(context.by_operator());
  COMMENSAL_TRY(not_zero(body.amount));
  if (const auto* entry = context.state.deposits.find(body.reference)) {
    return fail(ErrorCode::kAlreadyExists, "reference: entry {} has booked this payment already",
                *entry);
  }
  context.state.deposits.set(body.reference, context.sequence());
  return context.move(kOutside, {body.owner, AccountKind::kAvailable}, body.amount);
}

Result<void> rule(Context& context, const Withdraw& body) {
  COMMENSAL_TRY(not_zero(body.amount));
  return context.move({context.sender(), AccountKind::kAvailable}, kOutside, body.amount);
}

namespace {

/// What can be locked, and whether the sender may lock into it and take out of it again.
struct LockRow {
  AccountKind kind;
  bool operator_only;
};
constexpr LockRow kLocks[] = {{AccountKind::kEscrow, false},
                              {AccountKind::kPenaltyEscrow, false},
                              {AccountKind::kStake, false},
                              {AccountKind::kCreditPool, true}};

Result<void> check_lock(const Context& context, AccountKind kind) {
  const auto* row = std::ranges::find(kLocks, kind, &LockRow::kind);
  if (row == std::end(kLocks)) {
    return fail(ErrorCode::kInvalidArgument,
                "account: {}, expected escrow, penalty_escrow, stake or credit_pool",
                protocol::name_of(kind));
  }
  return row->operator_only ? context.by_operator() : Result<void>{};
}

/// Pool and granted credit together stay below the cap.
Result<void> check_credit_cap(const Context& context) {
  const Config& config = context.config();
  COMMENSAL_ASSIGN(const Amount pooled,
                   context.locked(config.operator_address, AccountKind::kCreditPool));
  COMMENSAL_ASSIGN(const Amount sum, pooled.plus(context.state.scalars.credit));
  if (sum <= config.credit_cap) return {};
  return fail(ErrorCode::kResourceExhausted, "credit: {} would be out or in the pool, at most {}",
              protocol::to_text(sum), protocol::to_text(config.credit_cap));
}

std::size_t announcements_of(const Context& context) {
  const auto& rows = context.state.announcements.rows();
  const Address& owner = context.sender();
  return static_cast<std::size_t>(
      std::distance(rows.lower_bound({owner, 0}),
                    rows.upper_bound({owner, std::numeric_limits<std::uint64_t>::max()})));
}

}  // namespace

Result<void> rule(Context& context, const Fund& body) {
  COMMENSAL_TRY(not_zero(body.amount));
  COMMENSAL_TRY(check_lock(context, body.into));
  COMMENSAL_TRY(context.move({context.sender(), AccountKind::kAvailable},
                             {context.sender(), body.into}, body.amount));
  return body.into == AccountKind::kCreditPool ? check_credit_cap(context) : Result<void>{};
}

Result<void> rule(Context& context, const AnnounceWithdrawal& body) {
  COMMENSAL_TRY(not_zero(body.amount));
  COMMENSAL_TRY(check_lock(context, body.from));
  if (announcements_of(context) >= limits::kLedgerAnnouncementsMax) {
    return fail(ErrorCode::kResourceExhausted, "announcements: at most {} at a time",
                limits::kLedgerAnnouncementsMax);
  }
  std::uint64_t release_ms = 0;
  if (__builtin_add_overflow(context.time_ms(), context.config().withdrawal_delay_ms,
                             &release_ms)) {
    return fail(ErrorCode::kInvalidArgument, "clock: {} ms leaves no room for the delay",
                context.time_ms());
  }
  context.state.announcements.set({context.sender(), context.sequence()},
                                  {body.from, body.amount, release_ms});
  return context.move({context.sender(), body.from}, {context.sender(), AccountKind::kWithdrawing},
                      body.amount);
}

Result<void> rule(Context& context, const CompleteWithdrawal& body) {
  const OwnedKey key{context.sender(), body.announcement};
  const Announcement* found = context.state.announcements.find(key);
  if (found == nullptr) {
    return fail(ErrorCode::kNotFound, "announcement: {} has none of number {} (left)",
                crypto::to_text(key.owner), key.number);
  }
  const Announcement announced = *found;
  if (context.time_ms() < announced.release_ms) {
    return fail(ErrorCode::kFailedPrecondition, "announcement: released at {} ms, now it is {} ms",
                announced.release_ms, context.time_ms());
  }
  // Announced before the accusation or not.
  if (announced.from == AccountKind::kStake) COMMENSAL_TRY(expect_free_stake(context, key.owner));
  context.state.announcements.erase(key);
  return context.move({key.owner, AccountKind::kWithdrawing}, {key.owner, AccountKind::kAvailable},
                      announced.amount);
}

Result<void> rule(Context& context, const Allow& body) {
  const AllowanceKey key{context.sender(), body.spender};
  if (body.amount == Amount{}) {
    context.state.allowances.erase(key);
    return {};
  }
  const auto& rows = context.state.allowances.rows();
  std::size_t count = rows.contains(key) ? 0 : 1;
  for (auto row = rows.lower_bound({key.owner, {}}); row != rows.end(); ++row, ++count) {
    if (row->first.owner != key.owner) break;
  }
  if (count > limits::kLedgerAllowancesMax) {
    return fail(ErrorCode::kResourceExhausted, "allowances: at most {} at a time",
                limits::kLedgerAllowancesMax);
  }
  context.state.allowances.set(key, body.amount);
  return {};
}

namespace {

Result<void> use_allowance(Context& context, const Debit& body) {
  if (context.sender() == body.payer) return {};
  if (context.sender() != body.payee) {
    return fail(ErrorCode::kPermissionDenied, "sender: {}, expected the payer or the payee",
                crypto::to_text(context.sender()));
  }
  const AllowanceKey key{body.payer, body.payee};
  const Amount allowed = context.state.allowances.get(key);
  const auto left = allowed.minus(body.amount);
  if (!left) {
    return fail(ErrorCode::kPermissionDenied, "allowance: {} of {} to {}, {} was asked for",
                protocol::to_text(allowed), crypto::to_text(key.owner),
                crypto::to_text(key.spender), protocol::to_text(body.amount));
  }
  if (*left == Amount{}) {
    context.state.allowances.erase(key);
  } else {
    context.state.allowances.set(key, *left);
  }
  return {};
}

}  // namespace

Result<void> rule(Context& context, const Debit& body) {
  COMMENSAL_TRY(not_zero(body.amount));
  COMMENSAL_TRY(use_allowance(context, body));
  const bool credit = body.from == AccountKind::kCredit;
  if (!credit && body.from != AccountKind::kAvailable) {
    return fail(ErrorCode::kInvalidArgument, "account: {}, expected available or credit",
                protocol::name_of(body.from));
  }
  if (credit && (body.provider == body.payer || body.payee == body.payer)) {
    return fail(ErrorCode::kPermissionDenied, "credit: it cannot be paid to oneself");
  }
  COMMENSAL_TRY(
      context.move({body.payer, body.from}, {body.payee, AccountKind::kAvailable}, body.amount));
  if (!credit) return {};
  COMMENSAL_ASSIGN(context.state.scalars.credit, context.state.scalars.credit.minus(body.amount));
  return {};
}

Result<void> rule(Context& context, const GrantCredit& body) {
  COMMENSAL_TRY(context.by_operator());
  COMMENSAL_TRY(not_zero(body.amount));
  COMMENSAL_TRY(context.move({context.sender(), AccountKind::kCreditPool},
                             {body.to, AccountKind::kCredit}, body.amount));
  COMMENSAL_ASSIGN(context.state.scalars.credit, context.state.scalars.credit.plus(body.amount));
  return {};
}

Result<void> rule(Context& context, const AdmitAuditor& body) {
  COMMENSAL_TRY(context.by_operator());
  if (body.admitted > 1) {
    return fail(ErrorCode::kInvalidArgument, "admitted: {}, expected 0 or 1", body.admitted);
  }
  if (body.admitted == 1) {
    context.state.auditors.set(body.auditor, 1);
  } else {
    context.state.auditors.erase(body.auditor);
  }
  return {};
}

}  // namespace commensal::ledger
