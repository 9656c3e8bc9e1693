// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/sample.hpp>
#include <optional>

namespace commensal::governor {

/// The host's mean rate over one stretch, of the samples that lie in it entirely.
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
  /// By the clock; 0: that is what mean() is by. Precondition: not empty.
  double mean_by_clock() const { return sum_by_clock_ / weight_; }
  /// Of the time that the host needed, the share that it had a processor. Precondition: not empty.
  double given() const { return sum_given_ / weight_; }
  /// What the samples cover, overlaps counted once: the more, the less noise in the mean.
  double seconds() const { return empty() ? 0 : last_s_ - first_s_; }
  bool is_throttled() const { return is_throttled_; }

 private:
  double begin_s_ = 0;
  double first_s_ = 0;
  double last_s_ = 0;
  double sum_ = 0;
  double sum_by_clock_ = 0;
  double sum_given_ = 0;
  double weight_ = 0;
  bool is_throttled_ = false;
};

/// How far neighbouring stretches lie apart in a share: variance of its mean over one second.
class Scatter {
 public:
  void add(double share, double seconds);
  double variance() const { return variance_; }

 private:
  std::optional<double> last_;
  double variance_ = 0;
  int count_ = 0;
};

/// What was settled before an epoch was drawn.
struct Plan {
  double seconds = 0;
  double level = 0;  // of the guest, if it is drawn
  double draw = 0;   // the probability of that; 0: it stands still, and nothing is learnt of it
};

/// An epoch that was drawn, and what became of it.
struct Epoch {
  Plan plan;
  bool is_on = false;
  double on_s = 0;       // that the guest ran: less than all of it where it was stopped
  double covered_s = 0;  // by samples
};

}  // namespace commensal::governor
