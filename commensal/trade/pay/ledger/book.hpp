// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_kept.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/ledger.hpp>
#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <memory>
#include <optional>
#include <set>

namespace commensal::ledger {

/// The rules that the ledger in `store` was founded with; nothing where there is none.
/// Errors: the store's; kDataLoss.
core::Result<std::optional<Config>> founding_rules(core::Store& store);

/// A ledger on disk. Many transactions share one write: stage() runs them in memory, commit()
/// writes all that was staged in one batch. Nothing staged may be acknowledged before commit() has
/// returned. After a crash open() finds every committed entry, and perhaps the batch whose commit()
/// did not return, whole.
/// Spaces of the store: "ledger_journal" (sequence -> entry), "ledger_state" (state_rows.hpp),
/// "ledger_before" and "ledger_head" (journal.hpp: a journal cut off shows), written together in
/// every batch. With each Checkpoint what lies before the one before it goes, in portions.
/// Thread-safety: one thread at a time.
class Book {
 public:
  struct Options {
    std::size_t staged_entries_max = 1 << 14;                       // what one commit() may hold
    std::uint64_t checkpoint_entries = limits::kCheckpointEntries;  // see checkpoint_is_due
  };

  /// From the rows of the state. `store`, `signatures` and `arbiter` must outlive the book. Errors:
  /// the store's; kDataLoss for a state that is not the journal's (verify() says where).
  static core::Result<Book> open(core::Store& store, const Signatures& signatures, Options options,
                                 const Arbiter* arbiter = nullptr);
  static core::Result<Book> open(core::Store& store, const Signatures& signatures) {
    return open(store, signatures, Options{});
  }

  /// Errors: Ledger::apply's; kResourceExhausted where too much is staged; kUnavailable after a
  /// commit() that failed; kFailedPrecondition for a Checkpoint behind what is staged.
  core::Result<Entry> stage(const Transaction& transaction, std::int64_t time_ms);

  /// Makes all that was staged durable, in one batch; with the hold of a JointStore, together with
  /// what must be on disk exactly if these entries are. After an error nobody knows whether the
  /// batch was written, so that this book is of no use any more: open another.
  core::Result<void> commit();

  /// Whether so many entries follow the last Checkpoint that the operator should send another, of
  /// root(), once nothing is staged.
  bool checkpoint_is_due() const {
    const State::Scalars& now = state().scalars;
    return now.entries - now.checkpoint >= options_.checkpoint_entries;
  }
  Digest root() const { return root_digest(ledger_.root()); }
  /// The first entry that is kept, if there is one: 0, or a Checkpoint.
  std::uint64_t from() const { return from_; }

  const State& state() const { return ledger_.state(); }
  std::size_t staged() const { return staged_.size(); }

 private:
  Book(core::Store& store, Ledger ledger, Options options)
      : store_(&store), ledger_(std::move(ledger)), options_(options) {}

  core::Result<void> find_kept();
  void put_state(core::Store::Batch& batch);
  core::Result<void> remove_old(core::Store::Batch& batch);

  core::Store* store_;
  Ledger ledger_;
  Options options_;
  std::vector<core::Bytes> staged_;  // encoded, the last one is that of the ledger's head
  std::uint64_t from_ = 0;
  std::uint64_t oldest_ = 0;         // entry in the store, perhaps before from_
  bool has_old_rows_ = true;         // kBeforeSpace may hold some of checkpoints before from_
  std::optional<core::Bytes> base_;  // the row of no table before a Checkpoint that is staged
  std::set<core::Bytes> kept_;       // rows whose value at the last Checkpoint is in kBeforeSpace
  bool broken_ = false;
};

}  // namespace commensal::ledger
