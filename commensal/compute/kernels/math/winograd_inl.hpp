// SPDX-License-Identifier: Apache-2.0
// No #pragma once: included once per instruction set, inside a namespace (see all_inl.hpp).
//
// The transforms of the Winograd clause (docs/numerics.md) for 3x3 filters: F(2x2) with points
// 0, 1, -1, inf and F(4x4) with points 0, +-5/8, +-3/2, inf, whose constants are all exact in
// binary32. Every operation and its order is part of the specification.
// Source: Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks" (2015).

/// One dimension of the input transform: d[0..M+1] at stride `stride` becomes o[0..M+1].
template <class L, int M>
COMMENSAL_DEVICE inline void winograd_input_1d(const typename L::V* d, int stride, typename L::V* o,
                                               int o_stride) {
  const auto at = [&](int i) { return d[i * stride]; };
  if constexpr (M == 2) {
    o[0] = L::sub(at(0), at(2));
    o[o_stride] = L::add(at(1), at(2));
    o[2 * o_stride] = L::sub(at(2), at(1));
    o[3 * o_stride] = L::sub(at(1), at(3));
  } else {
    constexpr float kA = 0.625f, kB = 1.5f;
    const auto sum_ab = L::set(-(kA * kA + kB * kB)), product_ab = L::set(kA * kA * kB * kB);
    o[0] = L::mul_add(product_ab, at(0), L::mul_add(sum_ab, at(2), at(4)));
    const auto even_a = L::mul_add(L::set(-kB * kB), at(2), at(4));
    const auto odd_a = L::mul_add(L::set(-kB * kB), at(1), at(3));
    o[o_stride] = L::mul_add(L::set(kA), odd_a, even_a);
    o[2 * o_stride] = L::mul_add(L::set(-kA), odd_a, even_a);
    const auto even_b = L::mul_add(L::set(-kA * kA), at(2), at(4));
    const auto odd_b = L::mul_add(L::set(-kA * kA), at(1), at(3));
    o[3 * o_stride] = L::mul_add(L::set(kB), odd_b, even_b);
    o[4 * o_stride] = L::mul_add(L::set(-kB), odd_b, even_b);
    o[5 * o_stride] = L::mul_add(product_ab, at(1), L::mul_add(sum_ab, at(3), at(5)));
  }
}

/// One dimension of the output transform: m[0..M+1] becomes y[0..M-1].
template <class L, int M>
COMMENSAL_DEVICE inline void winograd_output_1d(const typename L::V* m, int stride,
                                                typename L::V* y, int y_stride) {
  const auto at = [&](int i) { return m[i * stride]; };
  if constexpr (M == 2) {
    y[0] = L::add(L::add(at(0), at(1)), at(2));
    y[y_stride] = L::sub(L::sub(at(1), at(2)), at(3));
  } else {
    constexpr float kA = 0.625f, kB = 1.5f;
    const auto sum_a = L::add(at(1), at(2)), difference_a = L::sub(at(1), at(2));
    const auto sum_b = L::add(at(3), at(4)), difference_b = L::sub(at(3), at(4));
    y[0] = L::add(L::add(at(0), sum_a), sum_b);
    y[y_stride] = L::mul_add(L::set(kB), difference_b, L::mul(L::set(kA), difference_a));
    y[2 * y_stride] = L::mul_add(L::set(kB * kB), sum_b, L::mul(L::set(kA * kA), sum_a));
    y[3 * y_stride] = L::mul_add(L::set(kB * kB * kB), difference_b,
                                 L::mul_add(L::set(kA * kA * kA), difference_a, at(5)));
  }
}

/// d and v: (M+2) x (M+2), row-major. Columns are transformed first, then rows.
template <class L, int M>
COMMENSAL_DEVICE inline void winograd_input(const typename L::V* d, typename L::V* v) {
  constexpr int T = M + 2;
  typename L::V t[T * T];
  for (int x = 0; x < T; ++x) winograd_input_1d<L, M>(d + x, T, t + x, T);
  for (int y = 0; y < T; ++y) winograd_input_1d<L, M>(t + y * T, 1, v + y * T, 1);
}

/// m: (M+2) x (M+2) sums, y: M x M outputs before the bias. Columns first, then rows.
template <class L, int M>
COMMENSAL_DEVICE inline void winograd_output(const typename L::V* m, typename L::V* y) {
  constexpr int T = M + 2;
  typename L::V t[M * T];
  for (int x = 0; x < T; ++x) winograd_output_1d<L, M>(m + x, T, t + x, T);
  for (int r = 0; r < M; ++r) winograd_output_1d<L, M>(t + r * T, 1, y + r * M, 1);
}
