// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/lanes.hpp>

namespace commensal::kernels::cpu {

/// Sums of rows of v, each times a weight of one row of Softmax: y[j] = the chain over k,
/// ascending, of fma(weights[k], v[k * v_step + j], y), then + 0; a canonical NaN.
struct WeightedRow {
  const float* weights = nullptr;
  std::int64_t count = 0;    // at most 65536
  const float* v = nullptr;  // readable in whole vectors
  std::int64_t v_step = 0;
  float* y = nullptr;
  std::int64_t columns = 0;
};

/// What a mask of large negative numbers leaves of weights is subnormal, and some machines take a
/// hundred times as long for an operation with such a number.
struct WeightedRowKernels {
  bool (*has_subnormal)(const float* weights, std::int64_t count) = nullptr;
  /// Leaves out steps with subnormal weights wherever that provably changes no bit.
  void (*weighted_row)(const WeightedRow&) = nullptr;
};

const WeightedRowKernels& weighted_row_kernels_for(Isa isa);

}  // namespace commensal::kernels::cpu
