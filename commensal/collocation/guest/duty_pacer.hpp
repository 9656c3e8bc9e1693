// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/pacer.hpp>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace commensal::guest {

/// Holds the guest's threads to a level: each rests (1 - level) / level as long as it has worked
/// (by its own processor time), after every two milliseconds of work, and altogether while the
/// level is 0.
/// Thread-safety: any thread, as core::Pacer says.
class DutyPacer final : public core::Pacer {
 public:
  /// In [0, 1]; 0 at first. Who rests because of the level before goes on by the new one.
  void set_level(double level);
  double level() const { return level_.load(std::memory_order_relaxed); }
  /// Whether a thread of the guest has work and may not do it now.
  bool is_resting() const { return resting_.load(std::memory_order_relaxed) > 0; }
  /// Whoever rests or comes from now on goes on at once, and pace() returns false: the guest ends.
  void stop();

  bool pace(std::int64_t work_ops) override;
  bool yield() override;

 private:
  void rest(double level, std::int64_t worked_ns);

  std::atomic<double> level_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> resting_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace commensal::guest
