// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/sample.hpp>

namespace commensal::governor {

/// The host's mean rate over one stretch, of the samples that lie in it entirely. Averages come
/// first: nothing is rectified here.
class Part {
 public:
  Part() = default;
  /// Samples count from `begin_s` on.
  explicit Part(double begin_s) : begin_s_(begin_s) {}

  /// True if it counts.
  bool add(const Sample& sample);
  bool empty() const { return weight_ <= 0; }
  /// Precondition: not empty.
  double mean() const { return sum_ / weight_; }
  /// What the samples cover, overlaps counted once: the more, the less noise in the mean.
  double seconds() const { return empty() ? 0 : last_s_ - first_s_; }
  bool limited() const { return limited_; }

 private:
  double begin_s_ = 0;
  double first_s_ = 0;
  double last_s_ = 0;
  double sum_ = 0;
  double weight_ = 0;
  bool limited_ = false;
};

}  // namespace commensal::governor
