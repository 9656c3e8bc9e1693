// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>

namespace commensal::kernels::cpu {

/// Places side by side along the last axis of a grid: entry d of place p, at y[p * axes + d], is
/// the chain fma(theta[d][k], place k, acc) from +0, the last axis first, then theta's last column
/// times 1, then + 0; a NaN may be any. Axes are 2 or 3.
template <class C>
struct AffineRow {
  const C* theta = nullptr;   // [axes, axes + 1]
  const C* across = nullptr;  // of each place, the last axis; readable to 16 beyond
  C others[2] = {0, 0};       // the other axes, the last first
  C* y = nullptr;
  std::int64_t count = 0;
};

struct AffineRowKernels {
  void (*floats)(const AffineRow<float>&, int axes) = nullptr;
  void (*doubles)(const AffineRow<double>&, int axes) = nullptr;
};

}  // namespace commensal::kernels::cpu
