// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace commensal::attack {

struct Interval {
  double low = 0;
  double high = 0;
};

/// Of a probability, after `hits` in `trials` > 0: exact, covers with at least 1 - alpha
/// (Clopper, Pearson 1934).
Interval clopper_pearson(std::uint64_t hits, std::uint64_t trials, double alpha);

double mean_of(std::span<const double> values);
/// Of the mean, with 1 - alpha, by Student's t; `values` not empty. One value says nothing: then
/// the interval has no ends.
Interval mean_interval(std::span<const double> values, double alpha);

}  // namespace commensal::attack
