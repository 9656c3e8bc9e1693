// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <hosts/common/rate.hpp>

namespace hosts::common {

void RateWindows::add(std::int64_t now_ns, std::uint64_t count) {
  points_.push_back({now_ns, count});
  while (points_.size() > 2 && now_ns - points_[1].at_ns >= kLongestNs) points_.pop_front();
}

std::optional<double> RateWindows::mean(std::int64_t window_ns) const {
  if (points_.empty()) return std::nullopt;
  const Point& last = points_.back();
  // The youngest point that is at least as old as the window.
  const auto after = std::ranges::upper_bound(points_, last.at_ns - window_ns, {}, &Point::at_ns);
  if (after == points_.begin()) return std::nullopt;
  const Point& first = *std::prev(after);
  if (last.at_ns == first.at_ns) return std::nullopt;
  return static_cast<double>(last.count - first.count) * 1e9 /
         static_cast<double>(last.at_ns - first.at_ns);
}

}  // namespace hosts::common
