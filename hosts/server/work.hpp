// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace hosts::server {

/// What a request computes: steps of a dot product over a table that fits into a second-level
/// cache. A fixed number of steps, however long they take: whoever disturbs the server shows.
class Work {
 public:
  explicit Work(std::uint64_t seed);

  /// Measures how many steps take a millisecond, for about `seconds`: the fastest of the pieces.
  double steps_per_ms(double seconds);
  /// Returns what was computed, so that it is.
  double run(std::uint64_t steps);

 private:
  std::vector<double> table_;
  std::size_t at_ = 0;
};

}  // namespace hosts::server
