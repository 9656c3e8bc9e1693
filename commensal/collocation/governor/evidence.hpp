// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/rules.hpp>
#include <deque>

namespace commensal::governor {

/// One stretch with the guest and one without.
struct Cycle {
  double seconds = 0;    // both
  double on_s = 0;       // with the guest
  double loss = 0;       // of the host's rate in these; below zero where it was faster
  double sd = 0;         // standard deviation of `loss`
};

/// What the guest has cost in all, and how sure that is: means over the window W, the shortest over
/// which a guest at the set point is shown to keep the promise, given the cycles' own scatter.
class Evidence {
 public:
  explicit Evidence(const Rules& rules) : rules_(rules) {}

  void add(const Cycle& cycle);
  /// A stretch without the guest in which nothing was learnt: it counts as no loss.
  void add_idle(double seconds);

  double window_s() const { return window_s_; }
  /// Of the time in W; zero while nothing is known.
  double loss() const { return loss_; }
  /// Upper end, with the rules' confidence.
  double loss_high() const { return loss_ + rules_.confidence * sd_; }
  /// As long as W, so that the ends above say what is promised.
  bool is_full() const { return total_s_ >= window_s_; }
  bool is_noisy() const { return window_s_ > rules_.window_max; }

 private:
  void measure();

  Rules rules_;
  std::deque<Cycle> cycles_;
  double total_s_ = 0;  // of all cycles kept
  double window_s_ = 0;
  double loss_ = 0;
  double sd_ = 0;
};

/// A sequential test (E. S. Page 1954, CUSUM) of the loss against the middle between set point and
/// promise.
class Alarm {
 public:
  explicit Alarm(const Rules& rules) : rules_(rules) {}
  /// True: it trips, and begins anew.
  bool observe(const Cycle& cycle);
  void reset() { sum_ = 0; }

 private:
  Rules rules_;
  double sum_ = 0;
};

}  // namespace commensal::governor
