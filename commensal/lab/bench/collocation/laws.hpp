// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/sample.hpp>
#include <deque>
#include <optional>

/// Laws of others that decide how fast a guest may run: functions of what they are told, without a
/// clock. Levels are shares of the guest's full speed.
namespace commensal::lab::bench::collocation {

/// Keeps the machine below a share of its processors, as Koordinator's CPU suppression does
/// (documentation, "CPU Suppress"): the guest gets what of that share the others do not use, each
/// second anew. Blind to caches and bandwidth.
class Suppressor {
 public:
  /// `guest_threads` at full speed.
  Suppressor(int processors, int guest_threads)
      : processors_(processors), guest_threads_(guest_threads) {}

  /// Over the last stretch `others` processors were busy with everything but the guest.
  double level(double others) const;

 private:
  static constexpr double kShare = 0.65;  // Koordinator's default
  double processors_;
  double guest_threads_;
};

/// TGS's adaptive rate control (Wu et al., NSDI 2023), as its code has it, fed with the host's
/// work. Where its actuator counts a guest's kernels, ours has the guest's share of time.
class Tgs {
 public:
  /// At times that grow. A sample is a mean over the time since the one before.
  double tick(double now_s, const std::optional<probe::RateSample>& sample);

 private:
  enum class Phase { kProfile, kSlowStart, kAvoid };

  void take(double rate);  // of one window
  void follow(double error);
  void profile();

  Phase phase_ = Phase::kProfile;
  std::optional<double> begin_s_;  // of the window under way
  double sum_ = 0;                 // of its samples: rate x seconds
  double seconds_ = 0;
  std::deque<double> windows_;  // newest last
  double reference_ = 0;
  double level_ = 0;
  int profiled_ = 0;
  int missed_ = 0;  // samples in a row that lost much
};

}  // namespace commensal::lab::bench::collocation
