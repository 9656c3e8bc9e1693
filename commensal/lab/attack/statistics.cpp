// SPDX-License-Identifier: Apache-2.0
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <commensal/lab/attack/statistics.hpp>
#include <limits>
#include <numeric>

namespace commensal::attack {

Interval clopper_pearson(std::uint64_t hits, std::uint64_t trials, double alpha) {
  const auto k = static_cast<double>(hits), n = static_cast<double>(trials);
  Interval interval{0, 1};
  if (hits > 0) interval.low = boost::math::ibeta_inv(k, n - k + 1, alpha / 2);
  if (hits < trials) interval.high = boost::math::ibeta_inv(k + 1, n - k, 1 - alpha / 2);
  return interval;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Interval mean_interval(std::span<const double> values, double alpha) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (values.size() < 2) return {-kInfinite, kInfinite};
  const auto n = static_cast<double>(values.size());
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  const boost::math::students_t law(n - 1);
  const double half = boost::math::quantile(boost::math::complement(law, alpha / 2)) * error;
  return {mean - half, mean + half};
}

}  // namespace commensal::attack
