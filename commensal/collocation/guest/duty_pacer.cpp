// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/collocation/guest/duty_pacer.hpp>

namespace commensal::guest {
namespace {

constexpr std::int64_t kSliceNs = 2'000'000;      // of work, before a thread rests for it
constexpr std::int64_t kSliceNsMax = 20'000'000;  // more was not paced: the level was 1

/// The processor time of this thread when its slice of work began: a thread's own, so that neither
/// a lock nor a table of threads is needed.
thread_local std::int64_t slice_begin_ns = 0;

}  // namespace

void DutyPacer::set_level(double level) {
  {
    const std::lock_guard lock(mutex_);
    level_ = std::clamp(level, 0.0, 1.0);
  }
  changed_.notify_all();
}

void DutyPacer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool DutyPacer::pace(std::int64_t) { return yield(); }

bool DutyPacer::yield() {
  if (stopped_.load(std::memory_order_relaxed)) return false;
  const double level = level_.load(std::memory_order_relaxed);
  if (level >= 1) return true;
  const std::int64_t worked_ns = core::thread_cpu_ns() - slice_begin_ns;
  if (level > 0 && worked_ns < kSliceNs) return true;
  rest(level, std::min(worked_ns, kSliceNsMax));
  slice_begin_ns = core::thread_cpu_ns();
  return !stopped_;
}

void DutyPacer::rest(double level, std::int64_t worked_ns) {
  std::unique_lock lock(mutex_);
  ++resting_;
  if (level > 0) {
    const std::chrono::duration<double, std::nano> length(static_cast<double>(worked_ns) *
                                                          (1 - level) / level);
    changed_.wait_for(lock, length, [&] { return stopped_ || level_ != level; });
  }
  changed_.wait(lock, [&] { return stopped_ || level_ > 0; });
  --resting_;
}

}  // namespace commensal::guest
