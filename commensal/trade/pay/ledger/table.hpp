// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/encoding.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace commensal::ledger {

/// An ordered map that can be taken back to where it was at the last keep(): a transaction edits
/// it freely and is undone where it is refused. Thread-safety: none.
template <class Key, class Value>
class Table {
 public:
  struct Change {
    Key key;
    std::optional<Value> before;
  };

  const Value* find(const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  /// The value, or a default one.
  Value get(const Key& key) const {
    const Value* found = find(key);
    return found != nullptr ? *found : Value{};
  }
  void set(const Key& key, Value value) {
    const auto [row, is_new] = rows_.try_emplace(key);
    changes_.push_back({key, is_new ? std::nullopt : std::optional(std::move(row->second))});
    row->second = std::move(value);
  }
  void erase(const Key& key) {
    const auto row = rows_.find(key);
    if (row == rows_.end()) return;
    changes_.push_back({key, std::move(row->second)});
    rows_.erase(row);
  }
  const std::map<Key, Value>& rows() const { return rows_; }

  /// Since the last keep(), oldest first; a key may stand there more than once.
  const std::vector<Change>& changes() const { return changes_; }
  void keep() {
    for (Change& change : changes_) {
      unwritten_.try_emplace(std::move(change.key), std::move(change.before));
    }
    changes_.clear();
  }
  void undo() {
    for (; !changes_.empty(); changes_.pop_back()) {
      Change& change = changes_.back();
      if (change.before) {
        rows_[change.key] = *std::move(change.before);
      } else {
        rows_.erase(change.key);
      }
    }
  }

  /// A row as it lies in a store: no change.
  void load(const Key& key, Value value) { rows_.insert_or_assign(key, std::move(value)); }
  /// The keys kept since the last take_unwritten(), each with what stood there then.
  const std::map<Key, std::optional<Value>>& unwritten() const { return unwritten_; }
  std::map<Key, std::optional<Value>> take_unwritten() { return std::exchange(unwritten_, {}); }

 private:
  std::map<Key, Value> rows_;
  std::vector<Change> changes_;
  std::map<Key, std::optional<Value>> unwritten_;
};

}  // namespace commensal::ledger
