// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/sample.hpp>
#include <deque>

namespace commensal::probe {

/// Tells a program that stands still from one whose figure is steady: by the program's own clock
/// where it shows one, else by the figure, of which noise or work changes some digit.
/// Not thread-safe.
class Liveness {
 public:
  explicit Liveness(double stale_after_s) : stale_after_s_(stale_after_s) {}

  /// The figure seen at `now_ns` as a sample, fresh or stale.
  Sample judge(std::int64_t now_ns, const Figure& figure);

 private:
  double stale_after_s_;
  std::optional<double> sign_{};  // of life, when it last changed
  std::int64_t changed_ns_ = 0;
};

/// Makes rates of a probe's samples: of a counter, the mean since at least `window_s` ago; of a
/// rate, what the program says, over its own averaging time. Both by the program's own time, or by
/// the time it needed, where a sample tells (and none while that stands still). A counter or a time
/// that goes back, or is no longer told, an invalid or a stale sample, or none for as long as makes
/// one stale, begins anew: there is no rate until a window has passed again.
/// Not thread-safe.
class Meter {
 public:
  Meter(const Traits& traits, double window_s);

  std::optional<RateSample> add(const Sample& sample);

 private:
  bool keep(const Sample& sample);

  Traits traits_;
  double window_s_;
  std::deque<Sample> kept_;  // oldest first, one of them older than the window
};

}  // namespace commensal::probe
