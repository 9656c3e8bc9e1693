// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/rules.hpp>
#include <commensal/collocation/probe/sample.hpp>
#include <deque>

namespace commensal::governor {

/// The host's mean rate over one stretch, of the samples that lie in it entirely. Averages come
/// first: nothing is rectified here.
class Part {
 public:
  Part() = default;
  /// Samples count from `begin_s` on.
  explicit Part(double begin_s) : begin_s_(begin_s) {}

  /// True if it counts.
  bool add(const probe::RateSample& sample);
  bool empty() const { return weight_ <= 0; }
  /// Precondition: not empty.
  double mean() const { return sum_ / weight_; }
  /// What the samples cover, overlaps counted once: the more, the less noise in the mean.
  double seconds() const { return empty() ? 0 : last_s_ - first_s_; }
  bool is_throttled() const { return is_throttled_; }

 private:
  double begin_s_ = 0;
  double first_s_ = 0;
  double last_s_ = 0;
  double sum_ = 0;
  double weight_ = 0;
  bool is_throttled_ = false;
};

/// One stretch with the guest and one without.
struct Cycle {
  double seconds = 0;  // both
  double on_s = 0;     // with the guest
  double loss = 0;     // of the host's rate in these; below zero where it was faster
  double sd = 0;       // standard deviation of `loss`
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
  /// What loss() is the mean of: at most W, or little more. Zero while nothing is known, since the
  /// guest has not run yet.
  double over_s() const { return over_s_; }
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
  double over_s_ = 0;
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
