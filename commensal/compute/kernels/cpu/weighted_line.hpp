// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/lanes.hpp>

namespace commensal::kernels::cpu {

/// A tap of all places of a line, or a line's share of it: its weight is multiplied by those of the
/// places, and its offset added to theirs.
struct LineTap {
  std::int64_t offset = 0;
  float weight = 1;
};

/// Where a place's own taps are. That there are none does not make a place its own tap.
enum class OwnTaps {
  kItself,  // one, of weight 1, at the place itself
  kListed,  // where the table has them
  kLaid,    // where they stand in the table
};

/// Outputs side by side: y[p] = the chain acc = fma(weight, x, acc) from +0 over every combination
/// of one of `line` and one of the place's own taps, row-major, leaving out those of weight 0; then
/// over `divisor`, canonical where it is NaN; `outside` where every weight is 0. A place's own tap
/// k of `taps` is, if listed, at index[k * step + p], if laid at k * step + p, and its weight at
/// weights[k * step + p]: tables that can be read to 16 beyond the last place.
template <class C>
struct WeightedLine {
  const C* x = nullptr;
  const LineTap* line = nullptr;
  std::int64_t line_taps = 1;
  OwnTaps own = OwnTaps::kItself;
  const std::int32_t* index = nullptr;
  const float* weights = nullptr;
  std::int64_t step = 0;
  std::int64_t taps = 1;
  C divisor = 1, outside = 0;
  C* y = nullptr;
  std::int64_t count = 0;
};

struct WeightedLineKernels {
  void (*floats)(const WeightedLine<float>&) = nullptr;
  void (*doubles)(const WeightedLine<double>&) = nullptr;
  /// The maximum of weight * x instead of the sum, those of weight 0 counting as +0; +0 where there
  /// are no taps. They are listed.
  void (*maximum)(const WeightedLine<float>&) = nullptr;
};

const WeightedLineKernels& weighted_line_kernels_for(Isa isa);

}  // namespace commensal::kernels::cpu
