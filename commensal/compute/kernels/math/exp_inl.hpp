// SPDX-License-Identifier: Apache-2.0
// No #pragma once: included once per instruction set, inside a namespace (see all_inl.hpp).
//
// exp, and what is made of it: sigmoid, tanh, erf. Largest errors, over all 2^32 inputs, are in
// docs/numerics.md; math/functions_test.cpp measures them. Coefficients are minimax fits made for
// this project.

/// exp(hi + lo) = m 2^n with m in [1/2, 2], where n is an int32 and hi no NaN.
template <class L>
struct ExpParts {
  typename L::V m;
  typename L::I n;
};
template <class L>
COMMENSAL_DEVICE inline ExpParts<L> exp_parts(typename L::V hi, typename L::V lo) {
  const auto n = L::to_int(L::mul(hi, L::set(0x1.715476p+0f)));  // 1 / log 2
  const auto n_float = L::to_float(n);
  auto r = L::mul_add(n_float, L::set(-0x1.62e430p-1f), hi);  // log 2 in two parts
  r = L::mul_add(n_float, L::set(0x1.05c610p-29f), r);
  r = L::add(r, lo);
  auto p = L::set(0x1.6a2162p-10f);
  p = L::mul_add(p, r, L::set(0x1.123b9cp-7f));
  p = L::mul_add(p, r, L::set(0x1.5558fcp-5f));
  p = L::mul_add(p, r, L::set(0x1.555490p-3f));
  p = L::mul_add(p, r, L::set(0x1.fffffcp-2f));
  return {L::add(L::mul_add(L::mul(r, r), p, r), L::set(1.0f)), n};
}

/// 2^e for e in [-126, 127].
template <class L>
COMMENSAL_DEVICE inline typename L::V power_of_2(typename L::I e) {
  return L::from_bits(L::template shift_left<23>(L::add_int(e, L::set_int(127))));
}

/// exp(hi + lo), |lo| at most about an ulp of hi. Overflow to infinity, gradual underflow.
template <class L>
COMMENSAL_DEVICE inline typename L::V exp_sum(typename L::V hi, typename L::V lo) {
  const auto nan = L::is_nan(hi);
  // Beyond these the result is infinity or +0 anyway.
  hi = L::select(L::less(hi, L::set(-104.0f)), L::set(-104.0f), hi);
  hi = L::select(L::less(L::set(89.0f), hi), L::set(89.0f), hi);
  const auto [m, n] = exp_parts<L>(hi, lo);
  // 2^n in two factors, so that a subnormal result is rounded once.
  const auto half = L::template shift_right<1>(n);
  const auto first = L::mul(m, power_of_2<L>(half));
  const auto y = L::mul(first, power_of_2<L>(L::sub_int(n, half)));
  return L::select(nan, L::from_bits(L::set_int(0x7fc00000)), y);
}

template <class L>
COMMENSAL_DEVICE inline typename L::V exp(typename L::V x) {
  return exp_sum<L>(x, L::set(0.0f));
}

/// 1 / (1 + exp(-x)), by e = exp(-|x|): 1 / (1 + e), or e / (1 + e) where x < 0.
template <class L>
COMMENSAL_DEVICE inline typename L::V sigmoid(typename L::V x) {
  const auto e = exp<L>(L::neg(L::abs(x)));
  const auto numerator = L::select(L::less(x, L::set(0.0f)), e, L::set(1.0f));
  return canonical<L>(L::div(numerator, L::add(L::set(1.0f), e)));
}

/// An odd function's value from that of |x|: takes over the sign of x.
template <class L>
COMMENSAL_DEVICE inline typename L::V with_sign_of(typename L::V x, typename L::V magnitude) {
  return L::select(L::less_int(L::bits(x), L::set_int(0)), L::neg(magnitude), magnitude);
}

/// tanh(a) for a in [0, 0.65).
template <class L>
COMMENSAL_DEVICE inline typename L::V tanh_small(typename L::V a) {
  const auto square = L::mul(a, a);
  auto p = L::set(-0x1.6a534cp-8f);
  p = L::mul_add(p, square, L::set(0x1.4f994ep-6f));
  p = L::mul_add(p, square, L::set(-0x1.b7da52p-5f));
  p = L::mul_add(p, square, L::set(0x1.11044ep-3f));
  p = L::mul_add(p, square, L::set(-0x1.555526p-2f));
  return L::mul_add(L::mul(a, square), p, a);
}

/// |x| < 0.65: a polynomial; else 1 - 2 / (exp(2 |x|) + 1).
template <class L>
COMMENSAL_DEVICE inline typename L::V tanh(typename L::V x) {
  const auto a = L::abs(x);
  const auto t = L::add(exp<L>(L::add(a, a)), L::set(1.0f));
  const auto large = L::sub(L::set(1.0f), L::div(L::set(2.0f), t));
  const auto y = with_sign_of<L>(x, L::select(L::less(a, L::set(0.65f)), tanh_small<L>(a), large));
  return canonical<L>(y);
}

/// erf(a) for a in [0, 0.93).
template <class L>
COMMENSAL_DEVICE inline typename L::V erf_small(typename L::V a) {
  const auto square = L::mul(a, a);
  auto p = L::set(0x1.5e0634p-14f);
  p = L::mul_add(p, square, L::set(-0x1.aaa2dap-11f));
  p = L::mul_add(p, square, L::set(0x1.54d42cp-8f));
  p = L::mul_add(p, square, L::set(-0x1.b80ff2p-6f));
  p = L::mul_add(p, square, L::set(0x1.ce2e1cp-4f));
  p = L::mul_add(p, square, L::set(-0x1.812744p-2f));
  p = L::mul_add(p, square, L::set(0x1.06eba8p-3f));
  return L::mul_add(a, p, a);
}

/// q with erf(a) = 1 - exp(-q), for a in [0.93, 3.95]: at most 18.
template <class L>
COMMENSAL_DEVICE inline typename L::V erf_exponent(typename L::V a) {
  auto q = L::set(0x1.6309a4p-16f);
  q = L::mul_add(q, a, L::set(-0x1.c85c26p-12f));
  q = L::mul_add(q, a, L::set(0x1.1196e2p-8f));
  q = L::mul_add(q, a, L::set(-0x1.9bb516p-6f));
  q = L::mul_add(q, a, L::set(0x1.bb926ep-4f));
  q = L::mul_add(q, a, L::set(0x1.444470p-1f));
  q = L::mul_add(q, a, L::set(0x1.212846p+0f));
  return L::mul_add(q, a, L::set(-0x1.70d5eap-13f));
}

/// |x| < 0.93: x + x p(x^2); else 1 - exp(-q(|x|)).
template <class L>
COMMENSAL_DEVICE inline typename L::V erf(typename L::V x) {
  auto a = L::abs(x);
  const auto small = erf_small<L>(a);
  const auto is_small = L::less(a, L::set(0.93f));
  a = L::select(L::less(L::set(3.95f), a), L::set(3.95f), a);  // 1 from there on
  const auto large = L::sub(L::set(1.0f), exp<L>(L::neg(erf_exponent<L>(a))));
  return canonical<L>(with_sign_of<L>(x, L::select(is_small, small, large)));
}
