// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/book.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>

namespace commensal::ledger {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

/// The newest snapshot, or the state before any entry.
Result<State> newest_snapshot(core::Store& store) {
  core::Bytes newest;
  COMMENSAL_TRY(store.scan(kSnapshotSpace, {}, [&](core::ByteView, core::ByteView value) {
    newest.assign(value.begin(), value.end());
    return true;
  }));
  if (newest.empty()) return State{};
  return decode_snapshot(newest);
}

/// Entries are read one by one: a scan would start from the journal's beginning.
Result<void> replay_rest(core::Store& store, Ledger& ledger, std::uint64_t entries) {
  for (std::uint64_t number = ledger.state().scalars.entries; number < entries; ++number) {
    COMMENSAL_ASSIGN(const auto bytes, store.get(kJournalSpace, key_of(number)));
    if (!bytes) return fail(ErrorCode::kDataLoss, "ledger: entry {} is missing", number);
    if (const auto done = replay(ledger, *bytes); !done) {
      return core::in_context(fmt::format("ledger: entry {}", number), done.error());
    }
  }
  return {};
}

}  // namespace

Result<std::optional<Config>> founding_rules(core::Store& store) {
  COMMENSAL_ASSIGN(const auto bytes, store.get(kJournalSpace, key_of(0)));
  if (!bytes) return std::nullopt;
  const auto first = protocol::decode<Entry>(*bytes);
  const auto* found = first ? std::get_if<Found>(&first->transaction.body) : nullptr;
  if (found != nullptr) return found->config;
  return fail(ErrorCode::kDataLoss, "ledger: the first entry does not found one");
}

Result<Book> Book::open(core::Store& store, const Signatures& signatures, Options options) {
  COMMENSAL_ASSIGN(const std::optional<Head> head, read_head(store));
  if (!head) return Book(store, Ledger(signatures), options, 0);
  COMMENSAL_ASSIGN(State state, newest_snapshot(store));
  const std::uint64_t snapshot_at = state.scalars.entries;
  Ledger ledger(signatures, std::move(state));
  COMMENSAL_TRY(replay_rest(store, ledger, head->entries));
  if (head_of(ledger.state()) != *head) {
    return fail(ErrorCode::kDataLoss, "ledger: the journal does not end in its head, entry {}",
                head->entries);
  }
  return Book(store, std::move(ledger), options, snapshot_at);
}

Result<Entry> Book::stage(const Transaction& transaction, std::int64_t time_ms) {
  if (broken_) return fail(ErrorCode::kUnavailable, "ledger: a write failed, open it again");
  if (staged_.size() >= options_.staged_entries_max) {
    return fail(ErrorCode::kResourceExhausted, "ledger: {} entries await their write",
                staged_.size());
  }
  COMMENSAL_ASSIGN(Entry entry, ledger_.apply(transaction, time_ms));
  staged_.push_back(protocol::encode(entry));
  return entry;
}

Result<void> Book::commit() {
  if (broken_) return fail(ErrorCode::kUnavailable, "ledger: a write failed, open it again");
  if (staged_.empty()) return {};
  core::Store::Batch batch;
  const std::uint64_t entries = state().scalars.entries;
  std::uint64_t number = entries - staged_.size();
  for (core::Bytes& bytes : staged_) {
    batch.push_back({std::string(kJournalSpace), key_of(number++), std::move(bytes)});
  }
  batch.push_back({std::string(kHeadSpace), {}, encode_head(head_of(state()))});
  const bool snapshot = entries - snapshot_at_ >= options_.snapshot_entries;
  if (snapshot) {
    batch.push_back({std::string(kSnapshotSpace), key_of(entries), encode_snapshot(state())});
    if (snapshot_at_ != 0) {
      batch.push_back({std::string(kSnapshotSpace), key_of(snapshot_at_), std::nullopt});
    }
  }
  staged_.clear();
  const auto written = store_->apply(batch);
  broken_ = !written;
  if (written && snapshot) snapshot_at_ = entries;
  return written;
}

}  // namespace commensal::ledger
