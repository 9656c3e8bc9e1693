// SPDX-License-Identifier: Apache-2.0
// No #pragma once: included once per instruction set, inside a namespace (see all_inl.hpp).
//
// sinh, cosh and the inverses of the hyperbolic functions. Errors and coefficients as in
// exp_inl.hpp.

/// exp(a) / 2 for a >= 0, also where exp(a) overflows.
template <class L>
COMMENSAL_DEVICE inline typename L::V half_exp(typename L::V a) {
  a = L::select(L::less(L::set(95.0f), a), L::set(95.0f), a);
  const auto moved = exact_sum<L>(a, L::set(-0x1.62e430p-1f));  // log 2 in two parts
  return exp_sum<L>(moved.high, L::add(moved.low, L::set(0x1.05c610p-29f)));
}

/// |x| < 1: a polynomial; else h - (1/4) / h, h = exp(|x|) / 2.
template <class L>
COMMENSAL_DEVICE inline typename L::V sinh(typename L::V x) {
  const auto a = L::abs(x), square = L::mul(a, a);
  auto p = L::set(0x1.78a70ep-19f);
  p = L::mul_add(p, square, L::set(0x1.a00900p-13f));
  p = L::mul_add(p, square, L::set(0x1.11111ep-7f));
  p = L::mul_add(p, square, L::set(0x1.555556p-3f));
  const auto small = L::mul_add(L::mul(a, square), p, a);
  const auto h = half_exp<L>(a);
  const auto large = L::sub(h, L::div(L::set(0.25f), h));
  const auto y = L::select(L::less(a, L::set(1.0f)), small, large);
  return canonical<L>(with_sign_of<L>(x, y));
}

/// h + (1/4) / h, h = exp(|x|) / 2.
template <class L>
COMMENSAL_DEVICE inline typename L::V cosh(typename L::V x) {
  const auto h = half_exp<L>(L::abs(x));
  return canonical<L>(L::add(h, L::div(L::set(0.25f), h)));
}

/// |x| < 1/2: a polynomial; from 2^12 on log |x| + log 2; else log u, u = |x| + sqrt(x^2 + 1),
/// with what was lost in u.
template <class L>
COMMENSAL_DEVICE inline typename L::V asinh(typename L::V x) {
  const auto a = L::abs(x), square = L::mul(a, a);
  auto p = L::set(0x1.459970p-7f);
  p = L::mul_add(p, square, L::set(-0x1.504f9cp-6f));
  p = L::mul_add(p, square, L::set(0x1.ee142ep-6f));
  p = L::mul_add(p, square, L::set(-0x1.6d9bf0p-5f));
  p = L::mul_add(p, square, L::set(0x1.3332eap-4f));
  p = L::mul_add(p, square, L::set(-0x1.555556p-3f));
  const auto small = L::mul_add(L::mul(a, square), p, a);

  const auto one = L::set(1.0f);
  const auto is_far = L::negate(L::less(a, L::set(0x1p12f)));
  const auto b = L::select(is_far, one, a), b_square = L::mul(b, b);
  const auto sum = exact_sum<L>(b_square, one);
  const auto root = L::sqrt(sum.high);
  auto lost = L::add(L::mul_add(b, b, L::neg(b_square)), sum.low);
  lost = L::add(lost, L::mul_add(L::neg(root), root, sum.high));
  const auto u = exact_sum<L>(b, root);
  const auto u_low = L::add(u.low, L::div(lost, L::add(root, root)));
  const auto base = L::select(is_far, a, u.high);
  const auto rest = L::select(is_far, L::set(0x1.62e430p-1f), L::div(u_low, u.high));
  const auto large = L::add(log<L>(base), rest);
  const auto y = L::select(L::less(a, L::set(0.5f)), small, large);
  return canonical<L>(with_sign_of<L>(x, y));
}

/// From 2^12 on log x + log 2; else log(1 + w), w = t + sqrt(t^2 + 2 t), t = x - 1. NaN below 1.
template <class L>
COMMENSAL_DEVICE inline typename L::V acosh(typename L::V x) {
  const auto one = L::set(1.0f);
  const auto is_far = L::negate(L::less(x, L::set(0x1p12f)));  // NaN too
  const auto t = L::sub(L::select(is_far, one, x), one);
  const auto w = L::add(t, L::sqrt(L::mul_add(t, t, L::add(t, t))));
  const auto u = L::add(w, one);
  const auto lost = L::sub(w, L::sub(u, one));
  const auto base = L::select(is_far, x, u);
  const auto rest = L::select(is_far, L::set(0x1.62e430p-1f), L::div(lost, u));
  const auto y = canonical<L>(L::add(log<L>(base), rest));
  return L::select(L::less(x, one), L::from_bits(L::set_int(0x7fc00000)), y);
}

/// |x| < 1/2: a polynomial; else half the logarithm of (1 + |x|) / (1 - |x|).
template <class L>
COMMENSAL_DEVICE inline typename L::V atanh(typename L::V x) {
  const auto a = L::abs(x), square = L::mul(a, a), one = L::set(1.0f);
  auto p = L::set(0x1.4015d6p-3f);
  p = L::mul_add(p, square, L::set(0x1.4f2f8ep-5f));
  p = L::mul_add(p, square, L::set(0x1.8f7082p-4f));
  p = L::mul_add(p, square, L::set(0x1.c4a45ap-4f));
  p = L::mul_add(p, square, L::set(0x1.249fc4p-3f));
  p = L::mul_add(p, square, L::set(0x1.999964p-3f));
  p = L::mul_add(p, square, L::set(0x1.555556p-2f));
  const auto small = L::mul_add(L::mul(a, square), p, a);
  const auto ratio = L::div(L::add(one, a), L::sub(one, a));
  const auto large = L::mul(log<L>(ratio), L::set(0.5f));
  const auto y = L::select(L::less(a, L::set(0.5f)), small, large);
  return canonical<L>(with_sign_of<L>(x, y));
}
