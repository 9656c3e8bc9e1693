// SPDX-License-Identifier: Apache-2.0
// No #pragma once: included once per instruction set, inside a namespace (see all_inl.hpp).
//
// NaN, extremes and the simplest activations.

/// NaN becomes 0x7fc00000, everything else is unchanged: what arithmetic operators store.
template <class L>
COMMENSAL_DEVICE inline typename L::V canonical(typename L::V x) {
  return L::select(L::is_nan(x), L::from_bits(L::set_int(0x7fc00000)), x);
}

/// The larger: NaN if either is NaN (canonical), +0 above -0. (IEEE 754-2019 `maximum`.)
template <class L>
COMMENSAL_DEVICE inline typename L::V maximum(typename L::V a, typename L::V b) {
  // Equal values differ in bits only if they are zeros: there the integers decide.
  const auto tie = L::select(L::less_int(L::bits(a), L::bits(b)), b, a);
  const auto larger = L::select(L::less(a, b), b, L::select(L::less(b, a), a, tie));
  const auto nan = L::either(L::is_nan(a), L::is_nan(b));
  return L::select(nan, L::from_bits(L::set_int(0x7fc00000)), larger);
}

/// The smaller: NaN if either is NaN (canonical), -0 below +0. (IEEE 754-2019 `minimum`.)
template <class L>
COMMENSAL_DEVICE inline typename L::V minimum(typename L::V a, typename L::V b) {
  const auto tie = L::select(L::less_int(L::bits(a), L::bits(b)), a, b);
  const auto smaller = L::select(L::less(a, b), a, L::select(L::less(b, a), b, tie));
  const auto nan = L::either(L::is_nan(a), L::is_nan(b));
  return L::select(nan, L::from_bits(L::set_int(0x7fc00000)), smaller);
}

/// maximum(x, +0): -0 becomes +0, NaN stays NaN.
template <class L>
COMMENSAL_DEVICE inline typename L::V relu(typename L::V x) {
  return maximum<L>(x, L::set(0.0f));
}

/// x where not x < 0, else alpha * x.
template <class L>
COMMENSAL_DEVICE inline typename L::V leaky_relu(typename L::V x, typename L::V alpha) {
  return L::select(L::less(x, L::set(0.0f)), L::mul(alpha, x), x);
}
