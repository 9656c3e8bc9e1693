// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/book.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ledger/testing/random_tickets.hpp>
#include <commensal/trade/pay/ledger/testing/scripted_arbiter.hpp>
#include <cstdlib>
#include <optional>

namespace commensal::ledger::testing {

inline const CheapSignatures kSignatures;

inline Config config_of(const RandomOperations& operations) {
  Config config;
  config.operator_address = operations.operator_address();
  config.withdrawal_delay_ms = 500;
  config.contest_delay_ms = 1000;
  config.move_delay_ms = 500;
  config.dispute_delay_ms = 5000;
  return config;
}

/// For tests: operations against a book, with checkpoints where they are due, and how many of them
/// it made durable.
class Clerk {
 public:
  Clerk(core::Store& store, std::uint64_t seed, Book::Options options)
      : store_(store), options_(options), operations_(seed, 8), tickets_(seed) {}

  core::Result<void> open() {
    COMMENSAL_ASSIGN(Book book, Book::open(store_, kSignatures, options_, &kArbiter));
    book_.emplace(std::move(book));
    if (book_->state().scalars.entries != 0) return {};
    if (!book_->stage(operations_.found(config_of(operations_)), 0)) std::abort();
    return commit();
  }
  /// Stages `count` operations that fit, among others that do not, and writes them.
  core::Result<void> group(std::size_t count) {
    now_ms_ = static_cast<std::int64_t>(book_->state().scalars.time_ms) + 50;
    while (book_->staged() < count) {
      (void)book_->stage(operations_.next(book_->state()), now_ms_);
    }
    return commit();
  }
  /// What tickets and accusations need before group_of_tickets().
  core::Result<void> begin_tickets() {
    for (const auto& [sender, body] : tickets_.beginning(operations_.operator_address())) {
      COMMENSAL_TRY(book_->stage(operations_.make(book_->state(), sender, body), now_ms_));
    }
    return commit();
  }
  /// The same about tickets and accusations.
  core::Result<void> group_of_tickets(std::size_t count) {
    now_ms_ = static_cast<std::int64_t>(book_->state().scalars.time_ms) + 50;
    while (book_->staged() < count) {
      const auto [sender, body] = tickets_.next(book_->state());
      (void)book_->stage(operations_.make(book_->state(), sender, body), now_ms_);
    }
    return commit();
  }
  core::Result<void> commit() {
    COMMENSAL_TRY(book_->commit());
    acknowledged_ = head_of(book_->state());
    if (!book_->checkpoint_is_due()) return {};
    const auto made =
        operations_.make(book_->state(), operations_.operator_address(), Checkpoint{book_->root()});
    if (!book_->stage(made, now_ms_)) std::abort();
    return commit();
  }
  Book& book() { return *book_; }
  Head acknowledged_;

 private:
  core::Store& store_;
  Book::Options options_;
  RandomOperations operations_;
  RandomTickets tickets_;
  std::optional<Book> book_;
  std::int64_t now_ms_ = 0;
};

}  // namespace commensal::ledger::testing
