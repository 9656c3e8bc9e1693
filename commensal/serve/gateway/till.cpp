// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/till.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;

std::uint64_t Till::reserved(const std::string& account) const {
  const auto found = reserved_.find(account);
  return found == reserved_.end() ? 0 : found->second;
}

Result<void> Till::reserve(const std::string& account, std::uint64_t steps) {
  const std::uint64_t before = reserved(account);
  if (!is_free() && !bank_.can_pay(account, price_, before + steps)) {
    return fail(ErrorCode::kResourceExhausted,
                "account '{}' can't pay {} for each of {} step(s), with {} under way: its operator "
                "books what it pays in (account deposit)",
                account, to_text(price_), steps, before);
  }
  reserve_again(account, steps);
  return {};
}

void Till::reserve_again(const std::string& account, std::uint64_t steps) {
  if (steps > 0) reserved_[account] += steps;
}

void Till::release(const std::string& account, std::uint64_t steps) {
  const auto found = reserved_.find(account);
  if (found == reserved_.end()) return;
  found->second -= std::min(found->second, steps);
  if (found->second == 0) reserved_.erase(found);
}

Result<void> Till::afford(const std::string& account) const {
  if (is_free() || bank_.can_pay(account, price_, 1)) return {};
  return fail(ErrorCode::kResourceExhausted, "account '{}' can't pay {} for the next step", account,
              to_text(price_));
}

Result<void> Till::withdraw(const std::string& account, const protocol::Amount& amount) {
  const std::uint64_t steps = is_free() ? 0 : reserved(account);
  if (steps > 0 && !bank_.can_pay(account, price_, steps, amount)) {
    return fail(ErrorCode::kFailedPrecondition,
                "account '{}' keeps {} for each of {} step(s) under way", account, to_text(price_),
                steps);
  }
  return bank_.withdraw(account, amount);
}

/// A transaction that is refused leaves no trace.
Result<void> Till::charge(const ReceiptRecord& record) {
  if (record.opening_bytes > book_.limits().opening_max) {
    return fail(ErrorCode::kResourceExhausted,
                "inputs and outputs of {} bytes together, at most {} are kept with a receipt",
                record.opening_bytes, book_.limits().opening_max);
  }
  if (!record.charged || is_free()) return {};
  COMMENSAL_TRY(afford(record.account));
  return bank_.debit(record.account, price_, record.receipt.job.provider, record.id());
}

Result<Till::Outcomes> Till::keep(std::vector<ReceiptRecord>& records, const Also& also) {
  Outcomes outcomes(records.size());
  const auto each = [&](const auto& of_paid) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (outcomes[i]) of_paid(records[i]);
    }
  };
  COMMENSAL_TRY(bank_.durably([&]() -> Result<void> {
    std::ranges::transform(records, outcomes.begin(), [&](const auto& one) { return charge(one); });
    std::vector<ReceiptRecord> paid;
    each([&](ReceiptRecord& record) { paid.push_back(std::move(record)); });
    if (paid.empty()) return {};
    const auto kept = book_.append(paid);
    auto next = paid.begin();
    each([&](ReceiptRecord& record) { record = std::move(*next++); });
    COMMENSAL_TRY(kept);
    return also ? also(outcomes) : Result<void>();
  }));
  each([&](const ReceiptRecord& record) {
    if (record.charged) release(record.account, 1);
  });
  return outcomes;
}

}  // namespace commensal::gateway
