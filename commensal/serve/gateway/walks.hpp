// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

namespace commensal::gateway {

/// What waits to be gone through, and from where on: a little of each in its turn, so that none
/// keeps the others waiting, however often it is added again. Not thread-safe.
template <class Name, class Place>
class Walks {
 public:
  bool empty() const { return left_.empty(); }
  /// From its beginning, though it was under way.
  void add(const Name& name) { left_.insert_or_assign(name, Place{}); }
  /// Whose turn it is. `walk(name, place)` says where to go on; nothing: it is through. Not while
  /// empty().
  template <class Walk>
  void step(const Walk& walk) {
    auto next = last_ ? left_.upper_bound(*last_) : left_.begin();
    if (next == left_.end()) next = left_.begin();
    last_ = next->first;
    std::optional<Place> place = walk(next->first, next->second);
    if (place) {
      next->second = *std::move(place);
    } else {
      left_.erase(next);
    }
  }

 private:
  std::map<Name, Place> left_;
  std::optional<Name> last_;
};

}  // namespace commensal::gateway
