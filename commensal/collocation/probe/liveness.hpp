// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/sample.hpp>

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

}  // namespace commensal::probe
