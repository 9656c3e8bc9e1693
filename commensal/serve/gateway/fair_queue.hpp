// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace commensal::gateway {

/// What waits, by whom it is for: everybody has one turn after the other, however much of it is
/// one's. Not thread-safe.
template <class Item>
class FairQueue {
 public:
  void push(const std::string& account, Item item) {
    auto& line = lines_[account];
    if (line.empty()) turns_.push_back(account);
    line.push_back(std::move(item));
    ++size_;
  }
  /// What was popped, in vain: the account's first again, at its next turn.
  void put_back(const std::string& account, Item item) {
    auto& line = lines_[account];
    if (line.empty()) turns_.push_back(account);
    line.push_front(std::move(item));
    ++size_;
  }
  /// The oldest of whose turn it is; nothing where nothing waits.
  std::optional<Item> pop() {
    if (turns_.empty()) return std::nullopt;
    const std::string account = std::move(turns_.front());
    turns_.pop_front();
    const auto line = lines_.find(account);
    Item item = std::move(line->second.front());
    line->second.pop_front();
    --size_;
    if (line->second.empty()) {
      lines_.erase(line);
    } else {
      turns_.push_back(account);
    }
    return item;
  }
  /// Takes out the first that `is_it`.
  template <class Predicate>
  std::optional<Item> take(const Predicate& is_it) {
    for (auto& [account, line] : lines_) {
      for (auto at = line.begin(); at != line.end(); ++at) {
        if (!is_it(*at)) continue;
        Item item = std::move(*at);
        line.erase(at);
        --size_;
        if (line.empty()) {
          std::erase(turns_, account);
          lines_.erase(lines_.find(account));
        }
        return item;
      }
    }
    return std::nullopt;
  }
  std::size_t size() const { return size_; }
  std::size_t size_of(const std::string& account) const {
    const auto line = lines_.find(account);
    return line == lines_.end() ? 0 : line->second.size();
  }
  /// How many have something here.
  std::size_t accounts() const { return turns_.size(); }

 private:
  std::map<std::string, std::deque<Item>> lines_;  // none is empty
  std::deque<std::string> turns_;                  // the keys of lines_, each once
  std::size_t size_ = 0;
};

}  // namespace commensal::gateway
