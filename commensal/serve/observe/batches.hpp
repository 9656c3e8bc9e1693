// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace commensal::observe {

/// Hands items on, some at once, on a thread of its own: who pushes never waits, and what does not
/// fit is left out and counted. Thread-safety: any thread.
template <class Item>
class Batches {
 public:
  struct Terms {
    std::size_t waiting_max = 0;
    std::size_t at_once_max = 0;
    std::int64_t every_ms = 0;  // the first item of a batch waits so long, unless it is full
  };
  /// `take` may be slow; false: it could do nothing with them, and they count as left out.
  Batches(const Terms& terms, std::function<bool(std::vector<Item>)> take)
      : terms_(terms), take_(std::move(take)), thread_([this] { run(); }) {}
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;
  /// What waits is handed on in one last batch; the rest is left out.
  ~Batches() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void push(Item item) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= terms_.waiting_max) return void(++dropped_);
      waiting_.push_back(std::move(item));
      if (waiting_.size() != 1 && waiting_.size() != terms_.at_once_max) return;
    }
    changed_.notify_one();
  }

  std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
      changed_.wait_for(lock, std::chrono::milliseconds(terms_.every_ms),
                        [this] { return is_ending_ || waiting_.size() >= terms_.at_once_max; });
      const bool is_last = is_ending_;
      if (!waiting_.empty()) {
        const auto end = waiting_.begin() +
                         static_cast<std::ptrdiff_t>(std::min(waiting_.size(), terms_.at_once_max));
        std::vector<Item> batch(std::make_move_iterator(waiting_.begin()),
                                std::make_move_iterator(end));
        waiting_.erase(waiting_.begin(), end);
        const std::size_t count = batch.size();
        lock.unlock();
        const bool is_taken = take_(std::move(batch));
        lock.lock();
        if (!is_taken) dropped_ += count;
      }
      if (is_last) return;
    }
  }

  const Terms terms_;
  const std::function<bool(std::vector<Item>)> take_;
  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::deque<Item> waiting_;
  std::uint64_t dropped_ = 0;
  bool is_ending_ = false;
  std::thread thread_;  // last: it uses what is above
};

}  // namespace commensal::observe
