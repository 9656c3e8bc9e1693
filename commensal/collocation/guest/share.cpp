// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/guest/share.hpp>
#include <cstddef>

namespace commensal::guest {

std::vector<double> divide(double level, double capacity, std::span<const Wish> guests) {
  std::vector<double> levels(guests.size(), 0.0);
  const bool is_quiet = std::ranges::none_of(guests, &Wish::wants);
  std::vector<std::size_t> rising;  // who gets more the higher the water stands
  double weights = 0;
  for (std::size_t i = 0; i < guests.size(); ++i) {
    if (!guests[i].wants && !is_quiet) continue;
    rising.push_back(i);
    weights += guests[i].weight;
  }
  const auto full_at = [&](std::size_t i) { return guests[i].processors / guests[i].weight; };
  std::ranges::sort(rising, {}, full_at);
  double left = std::clamp(level, 0.0, 1.0) * std::max(capacity, 0.0);
  for (const std::size_t i : rising) {
    const double part = std::min(guests[i].processors, left * guests[i].weight / weights);
    levels[i] = std::clamp(part / guests[i].processors, 0.0, 1.0);
    left -= part;
    weights -= guests[i].weight;
  }
  return levels;
}

}  // namespace commensal::guest
