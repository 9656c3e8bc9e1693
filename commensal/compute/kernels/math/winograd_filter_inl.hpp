// SPDX-License-Identifier: Apache-2.0
// No #pragma once: included once per instruction set, inside a namespace (see all_inl.hpp).
//
// The filter transform of the Winograd clause (docs/numerics.md), over lanes of binary64: L has V,
// set, add and mul.

/// One entry of G f or t G^T: a row of G times three values.
template <class L>
COMMENSAL_DEVICE inline typename L::V winograd_entry(const double (&g)[3], typename L::V a,
                                                     typename L::V b, typename L::V c) {
  return L::add(L::add(L::mul(L::set(g[0]), a), L::mul(L::set(g[1]), b)), L::mul(L::set(g[2]), c));
}

template <class L, int T>
COMMENSAL_DEVICE inline void winograd_filter_with(const double (&g)[T][3], const typename L::V* f,
                                                  typename L::V* out) {
  typename L::V t[T][3];
  for (int i = 0; i < T; ++i) {
    for (int j = 0; j < 3; ++j) t[i][j] = winograd_entry<L>(g[i], f[j], f[3 + j], f[6 + j]);
  }
  for (int i = 0; i < T; ++i) {
    for (int j = 0; j < T; ++j) {
      out[i * T + j] = winograd_entry<L>(g[j], t[i][0], t[i][1], t[i][2]);
    }
  }
}

/// `filter` is 3x3 row-major, `out` is (kTile + 2)^2, not yet rounded. See winograd_filter
/// (winograd.hpp).
template <class L, int kTile>
COMMENSAL_DEVICE inline void winograd_filter_in(const typename L::V* filter, typename L::V* out) {
  static_assert(kTile == 2 || kTile == 4, "a Winograd tile has a side of 2 or 4");
  if constexpr (kTile == 2) {
    static constexpr double kG[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    winograd_filter_with<L, 4>(kG, filter, out);
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
    winograd_filter_with<L, 6>(kG, filter, out);
  }
}
