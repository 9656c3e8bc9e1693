// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/pay/ledger/book.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <utility>

namespace commensal::ledger {
using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

/// Removed with each write beside so many for each entry: more than an entry adds.
constexpr std::size_t kRemovedMin = 64;
constexpr std::size_t kRemovedPerEntry = 8;

}  // namespace

Result<std::optional<Config>> founding_rules(core::Store& store) {
  COMMENSAL_ASSIGN(const auto bytes, store.get(kStateSpace, {}));
  if (!bytes) return std::nullopt;
  COMMENSAL_ASSIGN(const Root root, decode_root(*bytes));
  return root.scalars.config;
}

Result<Book> Book::open(core::Store& store, const Signatures& signatures, Options options,
                        const Arbiter* arbiter) {
  COMMENSAL_ASSIGN(const auto stored_head, read_head(store));
  const Head head = stored_head.value_or(Head{});
  COMMENSAL_ASSIGN(StoredState stored, read_state(store));
  if (head_of(stored.state, head.from) != head) {
    return fail(ErrorCode::kDataLoss,
                "ledger: its state is that after {} entries, its journal has {}",
                stored.state.scalars.entries, head.entries);
  }
  if (stored_head) {
    COMMENSAL_ASSIGN(const auto last, store.get(kJournalSpace, key_of(head.entries - 1)));
    if (!last || entry_hash(*last) != head.hash) {
      return fail(ErrorCode::kDataLoss, "ledger: entry {} is missing or another", head.entries - 1);
    }
  }
  Book book(store, Ledger(signatures, std::move(stored), arbiter), options);
  book.from_ = head.from;
  COMMENSAL_TRY(book.find_kept());
  return book;
}

Result<void> Book::find_kept() {
  COMMENSAL_TRY(store_->scan(kJournalSpace, {}, [&](core::ByteView key, core::ByteView) {
    oldest_ = number_of(key).value_or(0);
    return false;
  }));
  const std::uint64_t checkpoint = state().scalars.checkpoint;
  if (checkpoint == 0) return {};
  const core::Bytes prefix = key_of(checkpoint);
  return store_->scan(kBeforeSpace, prefix, [&](core::ByteView key, core::ByteView) {
    const core::ByteView row = key.subspan(prefix.size());
    kept_.emplace(row.begin(), row.end());
    return true;
  });
}

Result<Entry> Book::stage(const Transaction& transaction, std::int64_t time_ms) {
  if (broken_) return fail(ErrorCode::kUnavailable, "ledger: a write failed: restart the gateway");
  if (staged_.size() >= options_.staged_entries_max) {
    return fail(ErrorCode::kResourceExhausted,
                "ledger: {} entries wait to be written, no more at a time; try again",
                staged_.size());
  }
  const bool is_checkpoint = std::holds_alternative<Checkpoint>(transaction.body);
  if (is_checkpoint && !staged_.empty()) {
    return fail(ErrorCode::kFailedPrecondition, "ledger: a checkpoint comes first in its write");
  }
  std::optional<core::Bytes> base;
  if (is_checkpoint) base = encode_root(ledger_.root());
  const std::uint64_t before = state().scalars.checkpoint;
  COMMENSAL_ASSIGN(Entry entry, ledger_.apply(transaction, time_ms));
  staged_.push_back(protocol::encode(entry));
  if (is_checkpoint) {
    base_ = std::move(base);
    from_ = before;
    kept_.clear();
    has_old_rows_ = true;
  }
  return entry;
}

/// The rows that changed, and what they were at the last checkpoint.
void Book::put_state(core::Store::Batch& batch) {
  const std::uint64_t checkpoint = state().scalars.checkpoint;
  const auto keep = [&](core::ByteView row, const std::optional<core::Bytes>& value) {
    batch.push_back({std::string(kBeforeSpace), before_key(checkpoint, row), before_value(value)});
  };
  if (base_) keep({}, std::exchange(base_, std::nullopt));
  for (RowChange& change : ledger_.take_changes()) {
    if (checkpoint != 0 && kept_.insert(change.key).second) keep(change.key, change.before);
    batch.push_back({std::string(kStateSpace), std::move(change.key), std::move(change.now)});
  }
  batch.push_back({std::string(kStateSpace), {}, encode_root(ledger_.root())});
}

Result<void> Book::remove_old(core::Store::Batch& batch) {
  std::size_t left = kRemovedMin + kRemovedPerEntry * staged_.size();
  for (; left > 0 && oldest_ < from_; --left) {
    batch.push_back({std::string(kJournalSpace), key_of(oldest_++), std::nullopt});
  }
  if (!has_old_rows_) return {};
  has_old_rows_ = false;
  const core::Bytes end = key_of(from_);
  return store_->scan(kBeforeSpace, {}, [&](core::ByteView key, core::ByteView) {
    if (!std::ranges::lexicographical_compare(key, end)) return false;
    has_old_rows_ = left == 0;
    if (has_old_rows_) return false;
    --left;
    batch.push_back({std::string(kBeforeSpace), {key.begin(), key.end()}, std::nullopt});
    return true;
  });
}

Result<void> Book::commit() {
  if (broken_) return fail(ErrorCode::kUnavailable, "ledger: a write failed: restart the gateway");
  if (staged_.empty()) return {};
  core::Store::Batch batch;
  broken_ = true;  // until it is written
  COMMENSAL_TRY(remove_old(batch));
  put_state(batch);
  std::uint64_t number = state().scalars.entries - staged_.size();
  for (core::Bytes& bytes : staged_) {
    batch.push_back({std::string(kJournalSpace), key_of(number++), std::move(bytes)});
  }
  batch.push_back({std::string(kHeadSpace), {}, encode_head(head_of(state(), from_))});
  staged_.clear();
  COMMENSAL_TRY(store_->apply(batch));
  broken_ = false;
  return {};
}

}  // namespace commensal::ledger
