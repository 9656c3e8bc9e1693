// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <functional>
#include <map>

namespace commensal::gateway {

/// What steps of jobs of either kind cost: the price of those to come is set aside, that of those
/// delivered is on disk together with their receipts or not at all.
/// Thread-safety: one thread, the store's.
class Till {
 public:
  /// All of them outlive this object.
  Till(ReceiptBook& book, Bank& bank, const protocol::Amount& price)
      : book_(book), bank_(bank), price_(price) {}

  /// Sets the price of a new job's steps aside, beside what is: no other job may count on it, nor
  /// is it paid out. Error: kResourceExhausted (the account cannot pay all of it).
  core::Result<void> reserve(const std::string& account, std::uint64_t steps);
  /// The same for a job that was admitted before a restart, whatever is there now.
  void reserve_again(const std::string& account, std::uint64_t steps);
  /// Of these steps nothing more will be delivered.
  void release(const std::string& account, std::uint64_t steps);
  /// Whether the next step can be paid. Error: kResourceExhausted.
  core::Result<void> afford(const std::string& account) const;
  /// Pays out what is not set aside; not durable yet. Errors: kFailedPrecondition, the ledger's.
  core::Result<void> withdraw(const std::string& account, const protocol::Amount& amount);

  /// Of each record by itself: why it was not kept.
  using Outcomes = std::vector<core::Result<void>>;
  using Also = std::function<core::Result<void>(const Outcomes&)>;
  /// Debits each record's account, out of what was reserved; who was debited has used up one step
  /// and gets the record into the book, with its number. All is written in one batch, with what
  /// `also` applies to the store, by the outcomes, if any record was paid. Errors of a record:
  /// kResourceExhausted, the ledger's; its reservation stays. Errors of all: those of `also` and
  /// the store.
  core::Result<Outcomes> keep(std::vector<ReceiptRecord>& records, const Also& also = {});

 private:
  bool is_free() const { return price_ == protocol::Amount(); }
  core::Result<void> charge(const ReceiptRecord& record);
  std::uint64_t reserved(const std::string& account) const;

  ReceiptBook& book_;
  Bank& bank_;
  const protocol::Amount price_;
  std::map<std::string, std::uint64_t> reserved_;  // steps by account
};

}  // namespace commensal::gateway
