// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <deque>
#include <map>

namespace commensal::core::testing {

/// A loop in virtual time: nothing runs but in run_until_idle() and advance_ms(). Deterministic.
/// Not thread-safe.
class ManualLoop final : public Loop {
 public:
  explicit ManualLoop(ManualClock& clock) : clock_(clock) {}

  /// Called whenever all is done that is due at a moment, in advance_ms().
  void watch(Task after_each) { after_each_ = std::move(after_each); }

  void post(Task task) override { ready_.push_back(std::move(task)); }
  void after(std::int64_t delay_ms, Task task) override {
    timers_.emplace(clock_.monotonic_ns() + delay_ms * 1'000'000, std::move(task));
  }
  /// Each batch that is written off the loop takes so long from now on.
  void set_store_ms(std::int64_t ms) { store_ms_ = ms; }
  /// Timers that are not due yet.
  std::size_t timers() const { return timers_.size(); }
  /// Whether one is under way.
  bool is_writing() const { return writing_ > 0; }
  void offload(Lane lane, Task work, Task done) override {
    const bool waits = lane == Lane::kStore && store_ms_ > 0;
    writing_ += waits ? 1 : 0;
    Task both = [this, waits, work = std::move(work), done = std::move(done)] {
      writing_ -= waits ? 1 : 0;
      work();
      done();
    };
    waits ? after(store_ms_, std::move(both)) : post(std::move(both));
  }

  void run_until_idle() {
    while (!ready_.empty()) {
      const Task task = std::move(ready_.front());
      ready_.pop_front();
      task();
    }
  }
  /// Moves the clock from timer to timer, running what is due.
  void advance_ms(std::int64_t ms) {
    const std::int64_t end = clock_.monotonic_ns() + ms * 1'000'000;
    run_until_idle();
    look();
    while (!timers_.empty() && timers_.begin()->first <= end) {
      auto due = timers_.extract(timers_.begin());
      step_to(due.key());
      due.mapped()();
      run_until_idle();
      look();
    }
    step_to(end);
  }

 private:
  void step_to(std::int64_t when_ns) {
    const std::int64_t left_ns = when_ns - clock_.monotonic_ns();
    if (left_ns > 0) clock_.advance_ms((left_ns + 999'999) / 1'000'000);
  }

  void look() const {
    if (after_each_) after_each_();
  }

  ManualClock& clock_;
  Task after_each_;
  std::int64_t store_ms_ = 0;
  int writing_ = 0;
  std::deque<Task> ready_;
  std::multimap<std::int64_t, Task> timers_;
};

}  // namespace commensal::core::testing
