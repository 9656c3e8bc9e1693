// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/rules.hpp>

namespace commensal::governor {

/// How much a mean of the host's rate over T seconds scatters by itself: relative variance c / T.
/// Learnt from stretches without the guest that follow each other, so that noise which is slower
/// than a sample, and drift, count too.
class Noise {
 public:
  explicit Noise(const Rules& rules);

  /// Two neighbouring stretches of `first_s` and `second_s` differed by the share `change`. False:
  /// by so much that the host itself must have changed; what lay between says nothing of the guest.
  bool observe(double change, double first_s, double second_s);
  /// Relative variance of a mean over `seconds`.
  double variance(double seconds) const { return c_ / seconds; }

 private:
  double c_;
  double weight_;
};

/// What a guest at full speed costs the host: the loss is slope * level. A Kalman filter of one
/// state that wanders (R. E. Kalman 1960), so that old evidence counts less and less.
class Slope {
 public:
  explicit Slope(const Rules& rules);

  /// At `level` in (0, 1] the loss was `loss`, with the standard deviation `sd`; `elapsed_s` since
  /// the last observation.
  void observe(double level, double loss, double sd, double elapsed_s);
  /// Whatever was known may have changed.
  void doubt();
  double mean() const { return mean_; }
  double sd() const;
  /// The mean, not below zero, and so many standard deviations.
  double high(double deviations) const;

 private:
  double mean_;
  double variance_;
  double variance_max_;
  double drift_;  // of the variance, a second
  double surprises_ = 0;
};

}  // namespace commensal::governor
