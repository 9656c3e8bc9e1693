// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/collocation/figures.hpp>

namespace commensal::lab::bench::collocation {
namespace {

using Points = std::vector<Point>;

/// Points in a row with the guest, or without it.
struct Stretch {
  bool is_on = false;
  std::size_t begin = 0, end = 0;
};

std::vector<Stretch> stretches_of(const Points& points) {
  std::vector<Stretch> made;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool is_on = points[i].level > 0;
    if (made.empty() || made.back().is_on != is_on) made.push_back({is_on, i, i});
    made.back().end = i + 1;
  }
  return made;
}

/// Mean rate of [begin, end); none of nothing.
std::optional<double> mean(const Points& points, std::size_t begin, std::size_t end) {
  if (begin >= end) return std::nullopt;
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += points[i].host_rate;
  return sum / static_cast<double>(end - begin);
}

}  // namespace

std::optional<double> kept_within(const Slice& slice) {
  constexpr auto kBeside = static_cast<std::size_t>(kBesideS / kPointS);
  const Points& points = slice.points;
  const std::vector<Stretch> stretches = stretches_of(points);
  double lost = 0;  // in points of the host alone
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const auto [is_on, begin, end] = stretches[i];
    if (!is_on) continue;
    // The first point of a stretch is partly of the one before.
    std::optional<double> before, after;
    if (i > 0)
      before = mean(points, std::max(stretches[i - 1].begin + 1, begin - std::min(begin, kBeside)),
                    begin);
    if (i + 1 < stretches.size())
      after = mean(points, end + 1, std::min(stretches[i + 1].end, end + 1 + kBeside));
    const auto on = mean(points, begin + 1, end);
    if (!before && !after) return std::nullopt;
    const double alone = (before ? *before : *after) / 2 + (after ? *after : *before) / 2;
    if (on) lost += static_cast<double>(end - begin) * (1 - *on / alone);
  }
  return 1 - lost / static_cast<double>(points.size());
}

}  // namespace commensal::lab::bench::collocation
