// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace commensal::kernels::math {

/// The static shape of a convolution, as far as the Winograd clause asks for it.
struct WinogradShape {
  bool is_float32 = false;
  int spatial_rank = 0;
  bool kernel_is_3x3 = false;  // and strides, dilations and group are all 1
  std::int64_t channels = 0;   // input channels
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
};

/// Output pixels of a tile's side: 4 or 2 where the clause applies, else 0 (direct).
/// Depends on nothing but the static shape: never on batch, data or instruction set.
constexpr int winograd_tile(const WinogradShape& q) {
  if (!q.is_float32 || q.spatial_rank != 2 || !q.kernel_is_3x3 || q.channels < 16) return 0;
  return q.out_height >= 13 && q.out_width >= 13 ? 4 : 2;
}

/// The filter transform: `filter` is 3x3 row-major, `out` is (tile+2)^2. Computed in binary64
/// without fusing: t = G f, then t G^T, each entry ((g0 f0 + g1 f1) + g2 f2), and each of the
/// results rounded once to binary32. `tile` is 2 or 4.
void winograd_filter(int tile, const float* filter, float* out);

}  // namespace commensal::kernels::math
