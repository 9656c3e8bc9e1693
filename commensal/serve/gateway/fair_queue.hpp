// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace commensal::gateway {

/// Where something stands in its account's line: before what has a higher rank in the same queue.
/// What is in other queues keeps its turns.
struct Standing {
  std::string queue = {};
  std::uint32_t rank = 0;
};

/// What waits, by whom it is for: everybody has one turn after the other, however much of it is
/// one's. An account's line is in the order of arrival, but that each queue in it hands out, when a
/// turn of its own comes, what ranks lowest. Not thread-safe.
template <class Item>
class FairQueue {
 public:
  void push(const std::string& account, Item item, const Standing& at = {}) {
    Line& line = open(account);
    line.turns.push_back(at.queue);
    line.queues[at.queue][at.rank].push_back(std::move(item));
    ++size_;
  }
  /// What was popped, in vain: the account's first again, at its next turn.
  void put_back(const std::string& account, Item item, const Standing& at = {}) {
    Line& line = open(account);
    line.turns.push_front(at.queue);
    line.queues[at.queue][at.rank].push_front(std::move(item));
    ++size_;
  }
  /// The first of whose turn it is; nothing where nothing waits.
  std::optional<Item> pop() {
    if (turns_.empty()) return std::nullopt;
    const std::string account = std::move(turns_.front());
    turns_.pop_front();
    const auto line = lines_.find(account);
    const auto queue = line->second.queues.find(line->second.turns.front());
    line->second.turns.pop_front();
    Item item = remove(line->second, queue, queue->second.begin(), 0);
    if (line->second.turns.empty()) {
      lines_.erase(line);
    } else {
      turns_.push_back(account);
    }
    return item;
  }
  /// Takes out the first that `is_it`.
  template <class Predicate>
  std::optional<Item> take(const Predicate& is_it) {
    for (auto line = lines_.begin(); line != lines_.end(); ++line) {
      auto& [turns, queues] = line->second;
      for (auto queue = queues.begin(); queue != queues.end(); ++queue) {
        std::size_t before = 0;  // in its queue
        for (auto rank = queue->second.begin(); rank != queue->second.end(); ++rank) {
          for (std::size_t i = 0; i < rank->second.size(); ++i, ++before) {
            if (!is_it(rank->second[i])) continue;
            drop_turn(turns, queue->first, before);
            Item item = remove(line->second, queue, rank, i);
            if (turns.empty()) {
              std::erase(turns_, line->first);
              lines_.erase(line);
            }
            return item;
          }
        }
      }
    }
    return std::nullopt;
  }
  std::size_t size() const { return size_; }
  std::size_t size_of(const std::string& account) const {
    const auto line = lines_.find(account);
    return line == lines_.end() ? 0 : line->second.turns.size();
  }
  /// How many of an account's stand there.
  std::size_t size_at(const std::string& account, const Standing& at) const {
    const auto line = lines_.find(account);
    if (line == lines_.end()) return 0;
    const auto queue = line->second.queues.find(at.queue);
    if (queue == line->second.queues.end()) return 0;
    const auto rank = queue->second.find(at.rank);
    return rank == queue->second.end() ? 0 : rank->second.size();
  }
  /// How many have something here.
  std::size_t accounts() const { return turns_.size(); }

 private:
  using Ranks = std::map<std::uint32_t, std::deque<Item>>;  // none is empty
  using Queues = std::map<std::string, Ranks>;              // none is empty
  struct Line {
    std::deque<std::string> turns;  // of queues: one for each item
    Queues queues;
  };

  Line& open(const std::string& account) {
    Line& line = lines_[account];
    if (line.turns.empty()) turns_.push_back(account);
    return line;
  }
  /// Of a queue's turns the one that has so many before it.
  static void drop_turn(std::deque<std::string>& turns, const std::string& queue,
                        std::size_t before) {
    for (auto turn = turns.begin(); turn != turns.end(); ++turn) {
      if (*turn != queue || before-- > 0) continue;
      turns.erase(turn);
      return;
    }
  }
  Item remove(Line& line, typename Queues::iterator queue, typename Ranks::iterator rank,
              std::size_t index) {
    Item item = std::move(rank->second[index]);
    rank->second.erase(rank->second.begin() + static_cast<std::ptrdiff_t>(index));
    --size_;
    if (rank->second.empty()) queue->second.erase(rank);
    if (queue->second.empty()) line.queues.erase(queue);
    return item;
  }

  std::map<std::string, Line> lines_;  // none is empty
  std::deque<std::string> turns_;      // the keys of lines_, each once
  std::size_t size_ = 0;
};

}  // namespace commensal::gateway
