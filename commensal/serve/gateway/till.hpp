// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <functional>

namespace commensal::gateway {

/// Delivered steps, of whatever kind of job, and what was paid for them: on disk together or not at
/// all. Thread-safety: one thread, the store's.
class Till {
 public:
  /// All of them outlive this object.
  Till(ReceiptBook& book, Bank& bank, const protocol::Amount& price)
      : book_(book), bank_(bank), price_(price) {}

  /// Whether `account` can pay for so many steps. Error: kResourceExhausted.
  core::Result<void> afford(const std::string& account, std::uint64_t steps) const;
  /// Gives the records their numbers, debits their accounts, and writes it all in one batch with
  /// what `also` applies to the store. Errors: those of `also`, the book and the ledger.
  core::Result<void> keep(std::vector<ReceiptRecord>& records,
                          const std::function<core::Result<void>()>& also = {});

 private:
  ReceiptBook& book_;
  Bank& bank_;
  const protocol::Amount price_;
};

}  // namespace commensal::gateway
