// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/rules.hpp>
#include <cstdint>
#include <deque>

namespace commensal::governor {

/// All that is in an hour's books, to be kept.
struct HourSums {
  double lost_s = 0;    // as Hour::lost_s
  double variance = 0;  // ... of that
  double run_s = 0;
  double explored_s = 0;
};

/// What the guest has cost of one hour so far, in seconds of the host's work: by the drawn contrast
/// (weights by inverse probability, D. Horvitz and D. Thompson 1952), with an upper end that holds
/// at every look (normal mixture, H. Robbins 1970). A value.
class Hour {
 public:
  static constexpr double kSeconds = 3600;

  /// One that has begun before, with `sums`.
  explicit Hour(const Rules& rules, const HourSums& sums = {});

  /// An epoch has ended that was drawn with the probability `draw`: the guest then cost `seconds`
  /// of the host's work, with that variance.
  void add(double seconds, double variance);
  /// The guest ran for so long, in seconds at full speed.
  void add_run(double seconds) { sums_.run_s += seconds; }
  void add_explored(double seconds) { sums_.explored_s += seconds; }

  double lost_s() const { return sums_.lost_s; }
  double lost_high_s() const { return sums_.lost_s + radius(sums_.variance); }
  double run_s() const { return sums_.run_s; }
  double explored_s() const { return sums_.explored_s; }
  /// How far the upper end will lie above the mean, with so much more variance.
  double radius_s(double more_variance) const { return radius(sums_.variance + more_variance); }
  const HourSums& sums() const { return sums_; }

 private:
  double radius(double variance) const;

  double rho_;        // the mixture's variance, which is settled beforehand
  double log_error_;  // 2 ln (1 / error)
  HourSums sums_;
};

/// When the guest ran within the last minute, and at which level. Thread-safety: none.
class Minute {
 public:
  static constexpr double kSeconds = 60;

  void add(double begin_s, double end_s, double level);
  /// Seconds at full speed within the minute before `now_s`.
  double run_s(double now_s) const;

 private:
  struct Run {
    double begin_s, end_s, level;
  };
  std::deque<Run> runs_;
};

}  // namespace commensal::governor
