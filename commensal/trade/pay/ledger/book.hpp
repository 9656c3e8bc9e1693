// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/ledger.hpp>
#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <memory>
#include <optional>

namespace commensal::ledger {

/// The rules that the ledger in `store` was founded with, from its first entry alone; nothing where
/// there is none. Errors: the store's; kDataLoss.
core::Result<std::optional<Config>> founding_rules(core::Store& store);

/// A ledger on disk. Many transactions share one write: stage() runs them in memory, commit()
/// writes all that was staged in one batch. Nothing staged may be acknowledged before commit() has
/// returned. After a crash open() finds every committed entry, and perhaps the batch whose commit()
/// did not return, whole.
/// Spaces of the store: "ledger_journal" (sequence -> entry), "ledger_state" (state_rows.hpp) and
/// "ledger_head" (entries and hash: a journal cut off shows), written together in every batch.
/// Thread-safety: one thread at a time.
class Book {
 public:
  struct Options {
    std::size_t staged_entries_max = 1 << 14;  // what one commit() may hold
  };

  /// From the rows of the state. `store` and `signatures` must outlive the book. Errors: the
  /// store's; kDataLoss for a state that is not the journal's (verify() says where).
  static core::Result<Book> open(core::Store& store, const Signatures& signatures, Options options);
  static core::Result<Book> open(core::Store& store, const Signatures& signatures) {
    return open(store, signatures, Options{});
  }

  /// Errors: Ledger::apply's; kResourceExhausted where too much is staged; kUnavailable after a
  /// commit() that failed.
  core::Result<Entry> stage(const Transaction& transaction, std::int64_t time_ms);

  /// Makes all that was staged durable, in one batch; with the hold of a JointStore, together with
  /// what must be on disk exactly if these entries are. After an error nobody knows whether the
  /// batch was written, so that this book is of no use any more: open another.
  core::Result<void> commit();

  const Ledger& ledger() const { return ledger_; }
  const State& state() const { return ledger_.state(); }
  std::size_t staged() const { return staged_.size(); }

 private:
  Book(core::Store& store, Ledger ledger, Options options, const RowSum& sum)
      : store_(&store), ledger_(std::move(ledger)), options_(options), sum_(sum) {}

  core::Store* store_;
  Ledger ledger_;
  Options options_;
  RowSum sum_;                       // of the rows in the store
  std::vector<core::Bytes> staged_;  // encoded, the last one is that of the ledger's head
  bool broken_ = false;
};

}  // namespace commensal::ledger
