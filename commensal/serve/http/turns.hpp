// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace commensal::http {

/// Whose request the gateway's loop sees to next. Every account has a line of its own, all who are
/// nobody have one together; the line that has had least of the loop's time is next (start-time
/// fair queueing), so that who asks for little waits for one task of who asks for much. What else
/// the loop has to do comes in between. Thread-safety: any thread; tasks run on the loop.
class Turns : public std::enable_shared_from_this<Turns> {
 public:
  using Task = std::function<void()>;
  /// Both outlive this object.
  Turns(core::Loop& loop, const core::Clock& clock) : loop_(loop), clock_(clock) {}

  /// In the line of an account; "": of nobody.
  void post(const std::string& account, Task task);
  /// In the line of the account that this token was last seen to be of; it may have ended since.
  void post_for_token(const std::string& token, Task task);
  void remember(const std::string& token, const std::string& account);

 private:
  struct Line {
    std::deque<Task> tasks;
    std::int64_t at_ns = 0;  // of the loop's time that lines have had: when it is due
  };

  void push(const std::string& account, Task task);
  bool run_one();
  void run();

  core::Loop& loop_;
  const core::Clock& clock_;
  std::mutex mutex_;  // guards the rest
  std::map<std::string, Line> lines_;
  std::set<std::pair<std::int64_t, std::string>> due_;  // lines that are not empty
  std::int64_t now_ns_ = 0;                             // at_ns of the line that was last served
  std::map<core::Digest, std::string> accounts_;        // by a token's hash
  bool is_running_ = false;                             // run() is posted, or runs
};

}  // namespace commensal::http
