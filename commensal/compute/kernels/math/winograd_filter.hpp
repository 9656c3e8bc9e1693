// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/math/device.hpp>

/// The filter transform of the Winograd clause (docs/numerics.md), for every back end: plain
/// binary64 operators, which no compiler of ours may fuse.
namespace commensal::kernels::math {

/// One entry of G f or t G^T: a row of G times three values.
COMMENSAL_DEVICE inline double winograd_entry(const double (&g)[3], double a, double b, double c) {
  return (g[0] * a + g[1] * b) + g[2] * c;
}

template <int T>
COMMENSAL_DEVICE inline void winograd_filter_with(const double (&g)[T][3], const float* f,
                                                  float* out) {
  double t[T][3];
  for (int i = 0; i < T; ++i) {
    for (int j = 0; j < 3; ++j) {
      t[i][j] = winograd_entry(g[i], static_cast<double>(f[j]), static_cast<double>(f[3 + j]),
                               static_cast<double>(f[6 + j]));
    }
  }
  for (int i = 0; i < T; ++i) {
    for (int j = 0; j < T; ++j) {
      out[i * T + j] = static_cast<float>(winograd_entry(g[j], t[i][0], t[i][1], t[i][2]));
    }
  }
}

/// `filter` is 3x3 row-major, `out` is (kTile + 2)^2. See winograd_filter (winograd.hpp).
template <int kTile>
COMMENSAL_DEVICE inline void winograd_filter_of(const float* filter, float* out) {
  static_assert(kTile == 2 || kTile == 4, "a Winograd tile has a side of 2 or 4");
  if constexpr (kTile == 2) {
    static constexpr double kG[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    winograd_filter_with<4>(kG, filter, out);
  } else {
    // Row of point p: {1, p, p^2} / N(p), N the product of p's distances to the other finite
    // points.
    constexpr double kA = 0.625, kB = 1.5, kA2 = kA * kA, kB2 = kB * kB;
    constexpr double kN0 = kA2 * kB2, kNA = 2 * kA2 * (kA2 - kB2), kNB = 2 * kB2 * (kB2 - kA2);
    static constexpr double kG[6][3] = {{1 / kN0, 0, 0},
                                        {1 / kNA, kA / kNA, kA2 / kNA},
                                        {1 / kNA, -kA / kNA, kA2 / kNA},
                                        {1 / kNB, kB / kNB, kB2 / kNB},
                                        {1 / kNB, -kB / kNB, kB2 / kNB},
                                        {0, 0, 1}};
    winograd_filter_with<6>(kG, filter, out);
  }
}

}  // namespace commensal::kernels::math
