// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace hosts::common {

/// Means of a growing counter over windows that end now, as miners show them: no mean before the
/// window has passed once. Not thread-safe.
class RateWindows {
 public:
  static constexpr std::int64_t kLongestNs = 900'000'000'000;  // 15 minutes

  void add(std::int64_t now_ns, std::uint64_t count);
  /// Counts a second over the last `window_ns`, of at most kLongestNs.
  std::optional<double> mean(std::int64_t window_ns) const;

 private:
  struct Point {
    std::int64_t at_ns;
    std::uint64_t count;
  };
  std::deque<Point> points_;  // oldest first, one of them older than kLongestNs
};

}  // namespace hosts::common
