// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/book.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>

namespace commensal::ledger {
using core::ErrorCode;
using core::fail;
using core::Result;

Result<std::optional<Config>> founding_rules(core::Store& store) {
  COMMENSAL_ASSIGN(const auto bytes, store.get(kJournalSpace, key_of(0)));
  if (!bytes) return std::nullopt;
  const auto first = protocol::decode<Entry>(*bytes);
  const auto* found = first ? std::get_if<Genesis>(&first->transaction.body) : nullptr;
  if (found != nullptr) return found->config;
  return fail(ErrorCode::kDataLoss,
              "ledger: the first entry is no Genesis: the journal is damaged");
}

Result<Book> Book::open(core::Store& store, const Signatures& signatures, Options options) {
  COMMENSAL_ASSIGN(const std::optional<Head> head, read_head(store));
  COMMENSAL_ASSIGN(StoredState stored, read_state(store));
  if (head_of(stored.state) != head.value_or(Head{})) {
    return fail(ErrorCode::kDataLoss,
                "ledger: its state is that after {} entries, its journal has {}",
                stored.state.scalars.entries, head.value_or(Head{}).entries);
  }
  if (head) {
    COMMENSAL_ASSIGN(const auto last, store.get(kJournalSpace, key_of(head->entries - 1)));
    if (!last || entry_hash(*last) != head->hash) {
      return fail(ErrorCode::kDataLoss, "ledger: entry {} is missing or another",
                  head->entries - 1);
    }
  }
  return Book(store, Ledger(signatures, std::move(stored.state)), options, stored.sum);
}

Result<Entry> Book::stage(const Transaction& transaction, std::int64_t time_ms) {
  if (broken_) return fail(ErrorCode::kUnavailable, "ledger: a write failed: restart the gateway");
  if (staged_.size() >= options_.staged_entries_max) {
    return fail(ErrorCode::kResourceExhausted,
                "ledger: {} entries wait to be written, no more at a time; try again",
                staged_.size());
  }
  COMMENSAL_ASSIGN(Entry entry, ledger_.apply(transaction, time_ms));
  staged_.push_back(protocol::encode(entry));
  return entry;
}

Result<void> Book::commit() {
  if (broken_) return fail(ErrorCode::kUnavailable, "ledger: a write failed: restart the gateway");
  if (staged_.empty()) return {};
  core::Store::Batch batch = ledger_.take_writes(sum_);
  std::uint64_t number = state().scalars.entries - staged_.size();
  for (core::Bytes& bytes : staged_) {
    batch.push_back({std::string(kJournalSpace), key_of(number++), std::move(bytes)});
  }
  batch.push_back({std::string(kHeadSpace), {}, encode_head(head_of(state()))});
  staged_.clear();
  const auto written = store_->apply(batch);
  broken_ = !written;
  return written;
}

}  // namespace commensal::ledger
