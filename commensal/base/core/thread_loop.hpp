// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <memory>

namespace commensal::core {

/// Who is told of turns of the loop (one task each) that took more of its thread's processor time
/// than they may: whatever waits for the loop waited for them. Called on the loop.
struct TurnWatch {
  std::int64_t cpu_ns_max = 0;
  std::function<void(std::int64_t cpu_ns)> on_long;  // null: nobody, and nothing is measured
};

/// The loop of a real process, in real time. A thread for each lane, which lives as long as the
/// loop runs, does the offloaded work.
///
/// Its life: made, run once (by run() or by start()), stopped, destroyed. What is pending when it
/// stops is destroyed and not run, at the latest with the loop; so is what is posted later. What
/// tasks refer to must live until run() or join() returns, and nothing more is needed.
/// Thread-safety: post() and stop() from any thread, run(), start() and join() from the owner's,
/// after() and offload() as Loop says or before the loop runs.
class ThreadLoop final : public Loop {
 public:
  explicit ThreadLoop(TurnWatch watch = {});
  ThreadLoop(const ThreadLoop&) = delete;
  ThreadLoop& operator=(const ThreadLoop&) = delete;
  /// Stops and waits; never from a task.
  ~ThreadLoop() override;

  /// Runs on the calling thread until stop(), and then waits for the work that is being done.
  void run();
  /// Runs on a thread of its own.
  void start();
  /// The current task, if there is one, is the last. Does not wait.
  void stop();
  /// Waits until the thread of start() has ended; never from a task.
  void join();

  void post(Task task) override;
  void after(std::int64_t delay_ms, Task task) override;
  void offload(Lane lane, Task work, Task done) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::core
