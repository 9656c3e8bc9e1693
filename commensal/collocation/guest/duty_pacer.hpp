// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/pacer.hpp>
#include <commensal/base/core/shared_memory.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace commensal::guest {

/// How fast guests may go, in memory that other processes may read.
struct SharedLevel {
  std::atomic<std::uint32_t> changes{0};  // who rests sleeps on it
  std::atomic<bool> is_stopped{false};
  std::atomic<double> level{0};
};

/// Holds the threads that call it to a level: each rests (1 - level) / level as long as it has
/// worked (by its own processor time), after every two milliseconds of work, and altogether while
/// the level is 0. Who rests because of the level before goes on by the new one.
/// Thread-safety: any thread, as core::Pacer says.
class PaceFollower final : public core::Pacer {
 public:
  /// Both outlive it; threads that rest are counted in `resting`. Where there is `is_cancelled`
  /// they look at it every 20 ms, and nobody rests once it holds.
  PaceFollower(const SharedLevel& level, std::atomic<std::int32_t>& resting,
               std::function<bool()> is_cancelled = {})
      : level_(level), resting_(resting), is_cancelled_(std::move(is_cancelled)) {}
  bool pace(std::int64_t work_ops) override;
  bool yield() override;

 private:
  void rest(double level, std::int64_t worked_ns);

  const SharedLevel& level_;
  std::atomic<std::int32_t>& resting_;
  const std::function<bool()> is_cancelled_;
};

/// The level of a guest, and who follows it in this process. Thread-safety: any thread, as
/// core::Pacer says.
class DutyPacer final : public core::Pacer {
 public:
  DutyPacer();

  /// In [0, 1]; 0 at first.
  void set_level(double level);
  double level() const { return shared_->level.load(std::memory_order_relaxed); }
  /// Whether a thread of the guest has work and may not do it now, in this process or another.
  bool is_resting() const { return resting_ > 0 || rests_elsewhere_; }
  /// Said by who knows of the threads of other processes.
  void tell_rest(bool rests_elsewhere) { rests_elsewhere_ = rests_elsewhere; }
  /// Whoever rests or comes from now on goes on at once, and pace() returns false: the guest ends.
  void stop();
  /// Where others may read its level (follow_pace); null where the system gives no such memory.
  const core::SharedMemory* memory() const { return memory_ ? &*memory_ : nullptr; }

  bool pace(std::int64_t work_ops) override { return own_.pace(work_ops); }
  bool yield() override { return own_.yield(); }

 private:
  void tell_change();

  std::optional<core::SharedMemory> memory_;
  SharedLevel alone_;  // where there is none
  SharedLevel* shared_;
  std::atomic<std::int32_t> resting_ = 0;
  std::atomic<bool> rests_elsewhere_ = false;
  PaceFollower own_;
};

/// A follower in another process, by the descriptor of its parent's DutyPacer::memory(). Null where
/// that is none.
std::unique_ptr<core::Pacer> follow_pace(core::Descriptor memory,
                                         std::atomic<std::int32_t>& resting,
                                         std::function<bool()> is_cancelled = {});

}  // namespace commensal::guest
