// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <utility>

namespace commensal::core {

/// The few things that were used last, by key; the one that was not for longest goes first. A key
/// is compared by ==. Thread-safety: one thread at a time.
template <class Key, class Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t items_max) : items_max_(items_max) {}

  /// Null where it is not kept. Valid until the next add().
  Value* find(const Key& key) {
    for (auto item = items_.begin(); item != items_.end(); ++item) {
      if (!(item->first == key)) continue;
      items_.splice(items_.begin(), items_, item);
      return &items_.front().second;
    }
    return nullptr;
  }
  Value& add(Key key, Value value) {
    if (items_.size() >= items_max_) items_.pop_back();
    items_.emplace_front(std::move(key), std::move(value));
    return items_.front().second;
  }
  template <class Predicate>
  void erase_if(const Predicate& is_over) {
    items_.remove_if([&](const auto& item) { return is_over(item.first); });
  }

 private:
  const std::size_t items_max_;
  std::list<std::pair<Key, Value>> items_;  // youngest first
};

}  // namespace commensal::core
