// SPDX-License-Identifier: Apache-2.0
// No #pragma once: included once per instruction set, inside a namespace (see all_inl.hpp).
//
// log, and what is made of it: softplus, pow. Errors as in exp_inl.hpp.

/// x = 2^exponent (1 + f), 1 + f in [2/3, 4/3), for finite x > 0; subnormals too.
template <class L>
struct LogParts {
  typename L::V f, exponent;
};

template <class L>
COMMENSAL_DEVICE inline LogParts<L> log_parts(typename L::V x) {
  const auto tiny = L::less(x, L::set(0x1p-126f));
  x = L::select(tiny, L::mul(x, L::set(0x1p23f)), x);
  const auto from = L::sub_int(L::bits(x), L::set_int(0x3f2aaaab));  // 2/3
  const auto e = L::template shift_right<23>(from);
  const auto m = L::from_bits(L::sub_int(L::bits(x), L::template shift_left<23>(e)));
  const auto shift = L::select(tiny, L::set(-23.0f), L::set(0.0f));
  return {L::sub(m, L::set(1.0f)), L::add(L::to_float(e), shift)};
}

/// (log(1 + f) - f + f^2 / 2) / f^3 for f in [-1/3, 1/3).
template <class L>
COMMENSAL_DEVICE inline typename L::V log_tail(typename L::V f) {
  auto p = L::set(-0x1.0e2a5cp-3f);
  p = L::mul_add(p, f, L::set(0x1.1df36ap-3f));
  p = L::mul_add(p, f, L::set(-0x1.f03c50p-4f));
  p = L::mul_add(p, f, L::set(0x1.1ef194p-3f));
  p = L::mul_add(p, f, L::set(-0x1.55b7e4p-3f));
  p = L::mul_add(p, f, L::set(0x1.99ce42p-3f));
  p = L::mul_add(p, f, L::set(-0x1.fffe5ep-3f));
  return L::mul_add(p, f, L::set(0x1.55550cp-2f));
}

/// log(+-0) is -infinity, of a negative number NaN.
template <class L>
COMMENSAL_DEVICE inline typename L::V log(typename L::V x) {
  const auto parts = log_parts<L>(x);
  const auto f = parts.f, square = L::mul(f, f);
  auto r = L::mul_add(L::mul(f, square), log_tail<L>(f), L::mul(square, L::set(-0.5f)));
  r = L::mul_add(parts.exponent, L::set(-0x1.05c610p-29f), r);
  r = L::mul_add(parts.exponent, L::set(0x1.62e430p-1f), L::add(r, f));
  const auto infinity = L::from_bits(L::set_int(0x7f800000));
  r = L::select(L::equal(x, infinity), infinity, r);
  r = L::select(L::equal(x, L::set(0.0f)), L::neg(infinity), r);
  const auto bad = L::either(L::less(x, L::set(0.0f)), L::is_nan(x));
  return L::select(bad, L::from_bits(L::set_int(0x7fc00000)), r);
}

/// log(1 + exp(x)) as maximum(x, 0) + log1p(e), e = exp(-|x|); with u = 1 + e rounded,
/// log1p(e) is log(u) + (e - (u - 1)) / u.
template <class L>
COMMENSAL_DEVICE inline typename L::V softplus(typename L::V x) {
  const auto e = exp<L>(L::neg(L::abs(x)));
  const auto u = L::add(L::set(1.0f), e);
  const auto lost = L::sub(e, L::sub(u, L::set(1.0f)));
  const auto tail = L::add(log<L>(u), L::div(lost, u));
  return canonical<L>(L::add(relu<L>(x), tail));
}

/// |x|^y for finite x > 0, through a logarithm in two parts: log(1 + f) = 2 atanh(s),
/// s = f / (2 + f).
template <class L>
COMMENSAL_DEVICE inline typename L::V pow_positive(typename L::V x, typename L::V y) {
  const auto parts = log_parts<L>(x);
  const auto f = parts.f, n = parts.exponent;
  const auto d = L::add(f, L::set(2.0f)), d_low = L::sub(f, L::sub(d, L::set(2.0f)));
  const auto s = L::div(f, d), minus_s = L::neg(s);
  const auto s_low = L::div(L::mul_add(minus_s, d_low, L::mul_add(minus_s, d, f)), d);
  const auto square = L::mul(s, s);
  auto p = L::set(0x1.ed9408p-3f);
  p = L::mul_add(p, square, L::set(0x1.23e960p-2f));
  p = L::mul_add(p, square, L::set(0x1.999bdep-2f));
  p = L::mul_add(p, square, L::set(0x1.555554p-1f));
  const auto h = L::add(s, s);
  auto low = L::mul_add(L::mul(s, square), p, L::add(s_low, s_low));
  // log 2 in two parts, the first so short that its multiples are exact.
  const auto big = L::mul(n, L::set(0x1.62ep-1f));
  const auto sum = L::add(big, h);
  low = L::add(low, L::sub(h, L::sub(sum, big)));
  low = L::mul_add(n, L::set(0x1.0bfbe8p-15f), low);
  const auto log_high = L::add(sum, low), log_low = L::sub(low, L::sub(log_high, sum));
  const auto product = L::mul(y, log_high);
  auto rest = L::mul_add(y, log_high, L::neg(product));
  rest = L::mul_add(y, log_low, rest);
  rest = L::select(L::less(L::abs(product), L::set(200.0f)), rest, L::set(0.0f));
  return exp_sum<L>(product, rest);
}

/// x^y with the special cases of C (IEEE 754 `pow`), NaN canonical.
template <class L>
COMMENSAL_DEVICE inline typename L::V pow(typename L::V x, typename L::V y) {
  const auto zero = L::set(0.0f), one = L::set(1.0f);
  const auto infinity = L::from_bits(L::set_int(0x7f800000));
  const auto a = L::abs(x), y_abs = L::abs(y);
  const auto small = L::less(y_abs, L::set(0x1p24f));  // above, all are even integers
  const auto y_small = L::select(small, y, zero);
  const auto y_int = L::to_int(y_small);
  const auto integral = L::equal(L::to_float(y_int), y_small);
  const auto last_bit = L::to_float(L::and_int(y_int, L::set_int(1)));
  const auto odd = L::both(integral, L::equal(last_bit, one));

  auto r = pow_positive<L>(a, y);
  const auto rises = L::less(zero, y);
  r = L::select(L::equal(a, zero), L::select(rises, zero, infinity), r);
  r = L::select(L::equal(a, infinity), L::select(rises, infinity, zero), r);
  const auto negative = L::less_int(L::bits(x), L::set_int(0));
  r = L::select(L::both(negative, odd), L::neg(r), r);
  // A finite negative base has a power of integers only.
  const auto finite = L::both(L::less(x, zero), L::less(a, infinity));
  const auto no_power = L::both(finite, L::negate(integral));
  const auto nan = L::either(no_power, L::either(L::is_nan(x), L::is_nan(y)));
  r = L::select(nan, L::from_bits(L::set_int(0x7fc00000)), r);
  const auto unit = L::both(L::equal(a, one), L::equal(y_abs, infinity));
  r = L::select(unit, one, r);
  return L::select(L::either(L::equal(y, zero), L::equal(x, one)), one, r);
}
