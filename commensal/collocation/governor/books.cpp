// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/books.hpp>

namespace commensal::governor {
namespace {

// Of the hour's promise: what the upper end may lie above the mean when the hour ends; there the
// mixture is narrowest.
constexpr double kRadiusShare = 0.6;

}  // namespace

Hour::Hour(const Rules& rules, const HourSums& sums)
    : log_error_(-2 * std::log(2 * (1 - rules.confidence))), sums_(sums) {
  const double radius = kRadiusShare * rules.promise * kSeconds;
  // S. Howard et al., Time-uniform confidence sequences, 2021: the best rho for a variance v is
  // about v / (l + ln(1 + l)), l = 2 ln (1 / error); there the radius is that of v + rho.
  const double best = log_error_ + std::log(1 + log_error_);
  const double wide = (1 + 1 / best) * (std::log(1 + best) + log_error_);
  rho_ = radius * radius / wide / best;
}

double Hour::radius(double variance) const {
  const double all = variance + rho_;
  return std::sqrt(all * (std::log(all / rho_) + log_error_));
}

void Hour::add(double seconds, double variance) {
  sums_.lost_s += seconds;
  sums_.variance += variance;
}

void Minute::add(double begin_s, double end_s, double level) {
  while (!runs_.empty() && runs_.front().end_s <= end_s - kSeconds) runs_.pop_front();
  runs_.push_back({begin_s, end_s, level});
}

double Minute::run_s(double now_s) const {
  double sum = 0;
  for (const Run& run : runs_) {
    sum += std::max(0.0, run.end_s - std::max(run.begin_s, now_s - kSeconds)) * run.level;
  }
  return sum;
}

}  // namespace commensal::governor
