// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/oip/turns.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace commensal::oip {

using Task = std::function<void()>;

/// How often each party (core::Place::party: a network, or an account whose connection it is) may
/// ask without a token. Thread-safety: any thread.
class Strangers {
 public:
  /// False where it has asked too often.
  bool ask(const std::string& party, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    return rates_.take(party, now_ns);
  }
  /// It is answered with so many bytes: as if it had asked more often, for a second at most.
  void answer(const std::string& party, std::size_t bytes, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    const auto requests = static_cast<double>(bytes / limits::kStrangerAnswerBytes);
    rates_.charge(party, std::min(requests, limits::kStrangerRequestsPerSecond), now_ns);
  }

 private:
  std::mutex mutex_;
  core::Rates<std::string> rates_{
      limits::kStrangerRequestsPerSecond,
      limits::kStrangerRequestsAtOnce / limits::kStrangerRequestsPerSecond};
};

/// What whoever serves consumers works with, whatever protocol they speak. It and what it refers to
/// outlive all that runs on the loop.
struct Services {
  gateway::Gateway& gateway;
  core::Loop& loop;
  const core::Clock& clock;
  std::shared_ptr<Turns> turns;  // the way to the loop: accounts take turns
  /// Runs a task where bodies are encoded: off the loop, soon.
  std::function<void(Task)> codec;
  /// Runs a task that may take seconds (importing a model), one at a time.
  std::function<void(Task)> staging;
  /// The way to the threads for bodies of limits::kHttpHeavyBytesMin or more: what else is small
  /// does not wait for them, and accounts take turns.
  std::shared_ptr<Turns> heavy;
  /// The way to where bodies are encoded for lists and for long models, one at a time: accounts
  /// take turns.
  std::shared_ptr<Turns> lists;
  Strangers& strangers;
};

}  // namespace commensal::oip
