// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/sample.hpp>
#include <deque>

namespace commensal::probe {

/// A mean rate over a stretch of time that ends at `at_s`: what a governor is fed with.
struct Reading {
  double at_s = 0;
  double over_s = 0;  // the mean is over so long
  double rate = 0;    // work a second
};

/// Makes rates of a probe's samples: of a counter, the mean since at least `window_s` ago (by the
/// program's own time where it tells one, and none while that stands still); of a
/// rate, what the program says, over its own averaging time. A counter that goes back, an invalid
/// or a stale sample, or none for as long as makes one stale, begins anew: there is no reading
/// until a window has passed again.
/// Not thread-safe.
class Meter {
 public:
  Meter(const Traits& traits, double window_s) : traits_(traits), window_s_(window_s) {}

  std::optional<Reading> add(const Sample& sample);

 private:
  Traits traits_;
  double window_s_;
  std::deque<Sample> kept_;  // oldest first, one of them older than the window
};

}  // namespace commensal::probe
