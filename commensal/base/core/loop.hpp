// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace commensal::core {

/// An event loop, injected: servers are event handlers, so that one thread and one seed can run a
/// whole market, and real time is only one way to drive them.
/// All tasks run on the loop's one thread, one at a time, those of post() in the order of posting.
/// Thread-safety: post() from any thread, the rest from the loop's thread.
class Loop {
 public:
  using Task = std::function<void()>;

  virtual ~Loop() = default;
  virtual void post(Task task) = 0;
  /// Runs `task` once, at least `delay_ms` from now.
  virtual void after(std::int64_t delay_ms, Task task) = 0;
  /// What is done off the loop waits for what came before it in the same lane only: computing may
  /// take minutes, reading and writing what is large may not wait for it, and batches of the store
  /// for neither.
  enum class Lane : std::uint8_t { kComputing, kFiles, kStore };
  static constexpr std::size_t kLanes = 3;
  /// Runs `work` off the loop, so that it may take long, one at a time and in order; then `done`
  /// on the loop.
  virtual void offload(Lane lane, Task work, Task done) = 0;
};

}  // namespace commensal::core
