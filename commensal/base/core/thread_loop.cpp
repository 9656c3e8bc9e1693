// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <chrono>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace commensal::core {
namespace {

using Task = Loop::Task;
using Time = std::int64_t;  // monotonic, in nanoseconds

Time now_ns() { return SystemClock().monotonic_ns(); }

/// What one thread does, in order. It asks the system for nothing while it has something to do, and
/// who posts to it only where it sleeps.
class Queue {
 public:
  void post(Task task) {
    bool sleeps = false;
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(task));
      sleeps = std::exchange(sleeps_, false);
    }
    if (sleeps) changed_.notify_one();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_one();
  }
  /// Moves what was posted to `taken`, which is empty, and waits for it, but not beyond `end`.
  /// False where it has stopped.
  bool take(std::vector<Task>& taken, std::optional<Time> end) {
    std::unique_lock lock(mutex_);
    while (posted_.empty() && !is_stopped_) {
      sleeps_ = true;
      if (!end) {
        changed_.wait(lock);
      } else {
        const Time left = *end - now_ns();
        if (left <= 0) break;
        changed_.wait_for(lock, std::chrono::nanoseconds(left));
      }
    }
    sleeps_ = false;
    std::swap(taken, posted_);
    return !is_stopped_;
  }

 private:
  std::mutex mutex_;  // of all
  std::condition_variable changed_;
  std::vector<Task> posted_;
  bool sleeps_ = false;
  bool is_stopped_ = false;
};

/// Offloaded work returns to the loop with its `done`, so that whatever either captured is
/// destroyed on the loop.
struct Errand {
  Task work;
  Task done;
};

}  // namespace

struct ThreadLoop::State {
  // Above the queues: tasks that are destroyed with them may still post.
  std::atomic<bool> stopped = false;
  std::atomic<std::thread::id> runs_on = {};  // the loop's thread, once there is one
  bool used = false;
  TurnWatch watch;
  Queue tasks;
  std::vector<Task> taken;           // of tasks: those before `next` are over
  std::size_t next = 0;              // ... the loop's thread
  std::multimap<Time, Task> timers;  // the loop's thread
  std::array<Queue, kLanes> errands;
  std::array<std::vector<Task>, kLanes> errands_taken;
  std::thread runner;

  void turn(const Task& task) const {
    if (!watch.on_long) return task();
    std::int64_t cpu_ns = 0;
    {
      const CpuMeter meter(cpu_ns);
      task();
    }
    if (cpu_ns > watch.cpu_ns_max) watch.on_long(cpu_ns);
  }
  void run_timers() {
    if (timers.empty()) return;
    const Time now = now_ns();
    while (!stopped && !timers.empty() && timers.begin()->first <= now) {
      const auto due = timers.extract(timers.begin());
      turn(due.mapped());
    }
  }
  /// Those that are due once between those that were posted at a time. What is left when it stops
  /// stays where it is.
  void run() {
    while (!stopped) {
      const auto end = timers.empty() ? std::nullopt : std::optional(timers.begin()->first);
      if (!tasks.take(taken, end)) return;
      for (next = 0; next < taken.size() && !stopped; ++next) {
        const Task task = std::move(taken[next]);
        turn(task);
      }
      if (stopped) return;
      taken.clear();
      run_timers();
    }
  }
  void run_lane(std::size_t lane) {
    std::vector<Task>& mine = errands_taken[lane];
    while (errands[lane].take(mine, {})) {
      for (Task& one : mine) {
        if (stopped) return;
        const Task task = std::move(one);
        task();
      }
      mine.clear();
    }
  }
};

ThreadLoop::ThreadLoop(TurnWatch watch) : state_(std::make_unique<State>()) {
  state_->watch = std::move(watch);
}

ThreadLoop::~ThreadLoop() {
  stop();
  join();
}

void ThreadLoop::run() {
  check(!state_->used, "a loop runs once");
  state_->used = true;
  state_->runs_on = std::this_thread::get_id();
  std::vector<std::thread> lanes;
  for (std::size_t i = 0; i < kLanes; ++i)
    lanes.emplace_back([state = state_.get(), i] { state->run_lane(i); });
  state_->run();
  for (std::thread& lane : lanes) lane.join();
}

void ThreadLoop::start() {
  check(!state_->runner.joinable(), "a loop starts once");
  state_->runner = std::thread([this] { run(); });
}

void ThreadLoop::stop() {
  state_->stopped = true;
  state_->tasks.stop();
  for (Queue& lane : state_->errands) lane.stop();
}

void ThreadLoop::join() {
  if (state_->runner.joinable()) state_->runner.join();
}

void ThreadLoop::post(Task task) {
  if (!state_->stopped) state_->tasks.post(std::move(task));
}

void ThreadLoop::after(std::int64_t delay_ms, Task task) {
  if (state_->stopped) return;
  const std::thread::id runs_on = state_->runs_on;
  check(runs_on == std::thread::id() || runs_on == std::this_thread::get_id(),
        "after() is called on the loop's thread");
  const Time at = now_ns() + delay_ms * 1'000'000;
  state_->timers.emplace(at, std::move(task));
}

void ThreadLoop::offload(Lane lane, Task work, Task done) {
  if (state_->stopped) return;
  auto errand = std::make_shared<Errand>(Errand{std::move(work), std::move(done)});
  state_->errands[static_cast<std::size_t>(lane)].post(
      [this, errand = std::move(errand)]() mutable {
        errand->work();
        post([errand = std::move(errand)] { errand->done(); });
      });
}

}  // namespace commensal::core
