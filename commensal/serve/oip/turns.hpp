// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace commensal::oip {

/// Whose task is next, on the gateway's loop or on threads of their own. Every account has a line,
/// all who are nobody have one together, and each has one task under way at a time; the line that
/// has had least time is next (start-time fair queueing), so that who asks for little waits for one
/// task of who asks for much, or for none where another thread is free. What else the loop has to
/// do comes in between. Thread-safety: any thread.
class Turns : public std::enable_shared_from_this<Turns> {
 public:
  using Task = std::function<void()>;
  using Post = std::function<void(Task)>;
  /// `post` runs tasks, at most `at_once` at a time; it and `clock` outlive what was posted.
  Turns(Post post, const core::Clock& clock, std::size_t at_once = 1)
      : post_(std::move(post)), clock_(clock), at_once_(at_once) {}

  /// In the line of an account; "": of nobody.
  void post(const std::string& account, Task task);

 private:
  struct Line {
    std::deque<Task> tasks;
    std::int64_t at_ns = 0;  // of the time that lines have had: when it is due
    bool is_busy = false;    // one of its tasks runs
  };

  void push(const std::string& account, Task task);
  bool run_one();
  void run();

  const Post post_;
  const core::Clock& clock_;
  const std::size_t at_once_;
  std::mutex mutex_;  // guards the rest
  std::map<std::string, Line> lines_;
  std::set<std::pair<std::int64_t, std::string>> due_;  // lines that have tasks and are not busy
  std::int64_t now_ns_ = 0;                             // at_ns of the line that was last served
  std::size_t running_ = 0;                             // of run(), posted or under way
};

}  // namespace commensal::oip
