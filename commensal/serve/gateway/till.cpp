// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/till.hpp>

namespace commensal::gateway {

core::Result<void> Till::afford(const std::string& account, std::uint64_t steps) const {
  if (price_ == protocol::Amount()) return {};
  COMMENSAL_ASSIGN(const protocol::Amount needed, price_.times(protocol::Amount(steps)));
  if (bank_.can_pay(account, needed)) return {};
  return core::fail(core::ErrorCode::kResourceExhausted,
                    "account '{}' can't pay {} for what it has under way, {} each", account,
                    to_text(needed), to_text(price_));
}

core::Result<void> Till::keep(std::vector<ReceiptRecord>& records,
                              const std::function<core::Result<void>()>& also) {
  return bank_.durably([&]() -> core::Result<void> {
    if (also) {
      COMMENSAL_TRY(also());
    }
    COMMENSAL_TRY(book_.append(records));
    for (const ReceiptRecord& record : records) {
      if (!record.charged || price_ == protocol::Amount()) continue;
      COMMENSAL_TRY(
          bank_.debit(record.account, price_, record.receipt.job.provider, record.id()));
    }
    return {};
  });
}

}  // namespace commensal::gateway
