// SPDX-License-Identifier: Apache-2.0
// No #pragma once: included once per instruction set, inside a namespace (see all_inl.hpp).
//
// sin, cos, tan and their inverses. Errors and coefficients as in exp_inl.hpp. Angles are reduced
// as by Payne and Hanek ("Radian reduction for trigonometric functions", 1983), on binary32 alone.

/// high + low, low at most about half an ulp of high.
template <class L>
struct Pair {
  typename L::V high, low;
};

/// a + b exactly (Knuth).
template <class L>
COMMENSAL_DEVICE inline Pair<L> exact_sum(typename L::V a, typename L::V b) {
  const auto sum = L::add(a, b), part = L::sub(sum, a);
  return {sum, L::add(L::sub(a, L::sub(sum, part)), L::sub(b, part))};
}

/// x minus the nearest multiple of 4, exactly; 0 from 2^25 on, where all numbers are multiples.
template <class L>
COMMENSAL_DEVICE inline typename L::V modulo_4(typename L::V x) {
  const auto kept = L::select(L::less(L::abs(x), L::set(0x1p25f)), x, L::set(0.0f));
  const auto n = L::to_float(L::to_int(L::mul(kept, L::set(0.25f))));
  return L::mul_add(n, L::set(-4.0f), kept);
}

/// An angle as r + quadrant * pi / 2, |r| at most about pi / 4.
template <class L>
struct Angle {
  Pair<L> r;
  typename L::I quadrant;  // modulo 4 it counts
};

/// 2 / pi * 256^j modulo 4 in four numbers, for the j that makes a's last bit weigh less than 256;
/// `scaled` is a / 256^j.
template <class L>
struct TwoOverPi {
  typename L::V scaled, part[4];
};

template <class L>
COMMENSAL_DEVICE inline TwoOverPi<L> two_over_pi_for(typename L::V a) {
  static constexpr float kParts[14][4] = {
      {0x1.45f306p-1f, 0x1.b93910p-26f, 0x1.529fc2p-52f, 0x1.d5f47ep-78f},
      {0x1.7cc1b8p+1f, -0x1.b1bbeap-24f, -0x1.ac07b2p-49f, 0x1.5f47d4p-74f},
      {0x1.836e4ep+0f, 0x1.1054a8p-26f, -0x1.ec5418p-55f, 0x1.f534dep-80f},
      {0x1.b72722p+1f, 0x1.529fc2p-28f, 0x1.d5f47ep-54f, -0x1.659120p-79f},
      {0x1.27220ap+1f, 0x1.29fc28p-24f, -0x1.505c16p-49f, 0x1.a6ee06p-75f},
      {0x1.220a94p+1f, 0x1.fc2758p-24f, -0x1.70565ap-51f, 0x1.dc0db6p-76f},
      {0x1.529fc2p-4f, 0x1.d5f47ep-30f, -0x1.659120p-55f, 0x1.b6c52cp-81f},
      {0x1.29fc28p+0f, -0x1.505c16p-25f, 0x1.a6ee06p-51f, 0x1.b6295ap-76f},
      {0x1.fc2758p+0f, -0x1.70565ap-27f, 0x1.dc0db6p-52f, 0x1.4acc9ep-79f},
      {0x1.3abe90p-3f, -0x1.596448p-29f, 0x1.b6c52cp-57f, -0x1.9b0ef2p-82f},
      {0x1.abe8fap+1f, 0x1.34ddc0p-24f, 0x1.b6c52cp-49f, -0x1.9b0ef2p-74f},
      {0x1.e8fa9ap+1f, 0x1.bb81b6p-25f, 0x1.8a5664p-50f, 0x1.e21c82p-75f},
      {0x1.f534dep+0f, -0x1.f924ecp-27f, 0x1.5993c4p-52f, 0x1.c82100p-79f},
      {0x1.34ddc0p+0f, 0x1.b6c52cp-25f, -0x1.9b0ef2p-50f, 0x1.041fe6p-76f}};
  TwoOverPi<L> made;
  for (int k = 0; k < 4; ++k) made.part[k] = L::set(kParts[0][k]);
  // The exponent of a's last bit, in steps of 8.
  auto last = L::sub_int(L::template shift_right<23>(L::bits(a)), L::set_int(127 + 23));
  const auto below = L::less_int(last, L::set_int(0));
  last = L::bits(L::select(below, L::set(0.0f), L::from_bits(last)));
  const auto j = L::template shift_right<3>(last);
  for (int row = 1; row < 14; ++row) {
    const auto reached = L::less_int(L::set_int(row - 1), j);
    for (int k = 0; k < 4; ++k) {
      made.part[k] = L::select(reached, L::set(kParts[row][k]), made.part[k]);
    }
  }
  const auto exponent = L::sub_int(L::set_int(127), L::template shift_left<3>(j));
  made.scaled = L::mul(a, L::from_bits(L::template shift_left<23>(exponent)));
  return made;
}

/// Sums the terms up into the last one; what is lost stays behind, so that the sum is the same.
template <class L, int kTerms>
COMMENSAL_DEVICE inline void distil(typename L::V (&term)[kTerms]) {
  for (int i = 1; i < kTerms; ++i) {
    const Pair<L> sum = exact_sum<L>(term[i], term[i - 1]);
    term[i] = sum.high;
    term[i - 1] = sum.low;
  }
}

/// a = (quadrant + turns + rest) pi / 2, |turns| at most about 1/2, rest at most half an ulp of it.
template <class L>
struct Quarters {
  typename L::V turns, rest;
  typename L::I quadrant;
};

/// For finite a >= 0.
template <class L>
COMMENSAL_DEVICE inline Quarters<L> quarters_of(typename L::V a) {
  constexpr int kTerms = 7;
  const TwoOverPi<L> factor = two_over_pi_for<L>(a);
  typename L::V high[4], low[3];
  for (int k = 0; k < 4; ++k) high[k] = L::mul(factor.scaled, factor.part[k]);
  for (int k = 0; k < 3; ++k) {
    low[k] = L::mul_add(factor.scaled, factor.part[k], L::neg(high[k]));
  }
  typename L::V term[kTerms] = {high[3],
                                low[2],
                                high[2],
                                low[1],
                                modulo_4<L>(high[1]),
                                modulo_4<L>(low[0]),
                                modulo_4<L>(high[0])};
  distil<L>(term);
  distil<L>(term);
  Quarters<L> made;
  made.quadrant = L::to_int(term[kTerms - 1]);
  term[kTerms - 1] = L::sub(term[kTerms - 1], L::to_float(made.quadrant));
  distil<L>(term);
  made.rest = term[0];
  for (int i = 1; i < kTerms - 1; ++i) made.rest = L::add(made.rest, term[i]);
  made.turns = term[kTerms - 1];
  return made;
}

template <class L>
COMMENSAL_DEVICE inline Angle<L> reduced(typename L::V a, const Quarters<L>& quarters) {
  const auto half_pi = L::set(0x1.921fb6p+0f), half_pi_low = L::set(-0x1.777a5cp-25f);
  const auto r = L::mul(quarters.turns, half_pi);
  const auto r_low = L::mul_add(quarters.turns, half_pi, L::neg(r));
  const auto tail = L::mul_add(quarters.turns, half_pi_low, L::mul(quarters.rest, half_pi));
  const auto sum = exact_sum<L>(r, L::add(r_low, tail));
  // A small angle is its own remainder.
  const auto small = L::less(a, L::set(0x1.921fb4p-1f));
  const auto zero = L::set(0.0f);
  return {{L::select(small, a, sum.high), L::select(small, zero, sum.low)},
          L::bits(L::select(small, zero, L::from_bits(quarters.quadrant)))};
}

template <class L>
COMMENSAL_DEVICE inline typename L::V sin_of_reduced(const Pair<L>& r) {
  const auto square = L::mul(r.high, r.high);
  auto p = L::set(0x1.6db388p-19f);
  p = L::mul_add(p, square, L::set(-0x1.a01388p-13f));
  p = L::mul_add(p, square, L::set(0x1.11110ep-7f));
  p = L::mul_add(p, square, L::set(-0x1.555556p-3f));
  const auto slope = L::mul_add(square, L::set(-0.5f), L::set(1.0f));
  return L::add(r.high, L::mul_add(L::mul(r.high, square), p, L::mul(r.low, slope)));
}

template <class L>
COMMENSAL_DEVICE inline typename L::V cos_of_reduced(const Pair<L>& r) {
  const auto one = L::set(1.0f);
  const auto square = L::mul(r.high, r.high);
  const auto square_low = L::mul_add(r.high, r.high, L::neg(square));
  auto p = L::set(0x1.9bcdc6p-16f);
  p = L::mul_add(p, square, L::set(-0x1.6c12bep-10f));
  p = L::mul_add(p, square, L::set(0x1.555554p-5f));
  const auto half = L::mul(square, L::set(0.5f)), high = L::sub(one, half);
  auto low = L::sub(L::sub(one, high), half);
  low = L::mul_add(square_low, L::set(-0.5f), low);
  low = L::mul_add(L::neg(r.high), r.low, low);
  return L::add(high, L::mul_add(L::mul(square, square), p, low));
}

/// Has the quadrant this bit?
template <class L, int kBit>
COMMENSAL_DEVICE inline typename L::M has_bit(typename L::I quadrant) {
  return L::less_int(L::set_int(0), L::and_int(quadrant, L::set_int(kBit)));
}

/// sin (of |x|) and cos of x.
template <class L>
struct SinCos {
  typename L::V sin, cos;
};
template <class L>
COMMENSAL_DEVICE inline SinCos<L> sin_cos_of(const Angle<L>& angle) {
  const auto s = sin_of_reduced<L>(angle.r), c = cos_of_reduced<L>(angle.r);
  const auto swapped = has_bit<L, 1>(angle.quadrant), half_turn = has_bit<L, 2>(angle.quadrant);
  const auto sin = L::select(swapped, c, s);
  const auto cos = L::select(swapped, L::neg(s), c);
  return {L::select(half_turn, L::neg(sin), sin), L::select(half_turn, L::neg(cos), cos)};
}
/// NaN, not canonical, for infinities and NaN.
template <class L>
COMMENSAL_DEVICE inline SinCos<L> sin_cos(typename L::V x) {
  const auto infinity = L::from_bits(L::set_int(0x7f800000));
  const auto nan = L::from_bits(L::set_int(0x7fc00000));
  const auto bad = L::negate(L::less(L::abs(x), infinity));
  const auto a = L::select(bad, L::set(0.0f), L::abs(x));
  const auto both = sin_cos_of<L>(reduced<L>(a, quarters_of<L>(a)));
  return {L::select(bad, nan, both.sin), L::select(bad, nan, both.cos)};
}

/// The sign of x turns that of the value, which may be negative itself.
template <class L>
COMMENSAL_DEVICE inline typename L::V odd(typename L::V x, typename L::V value) {
  return L::select(L::less_int(L::bits(x), L::set_int(0)), L::neg(value), value);
}

template <class L>
COMMENSAL_DEVICE inline typename L::V sin(typename L::V x) {
  return canonical<L>(odd<L>(x, sin_cos<L>(x).sin));
}
template <class L>
COMMENSAL_DEVICE inline typename L::V cos(typename L::V x) {
  return canonical<L>(sin_cos<L>(x).cos);
}
/// sin / cos.
template <class L>
COMMENSAL_DEVICE inline typename L::V tan(typename L::V x) {
  const auto both = sin_cos<L>(x);
  return canonical<L>(odd<L>(x, L::div(both.sin, both.cos)));
}

/// (asin(s) - s) / s for s = sqrt(square) in [0, 1/2].
template <class L>
COMMENSAL_DEVICE inline typename L::V asin_tail(typename L::V square) {
  auto p = L::set(0x1.14138cp-5f);
  p = L::mul_add(p, square, L::set(0x1.18e1f6p-6f));
  p = L::mul_add(p, square, L::set(0x1.fd921ap-6f));
  p = L::mul_add(p, square, L::set(0x1.6d5b8ep-5f));
  p = L::mul_add(p, square, L::set(0x1.333432p-4f));
  p = L::mul_add(p, square, L::set(0x1.555554p-3f));
  return L::mul(p, square);
}

/// asin(sqrt((1 - a) / 2)) for a in [1/2, 1], in two parts.
template <class L>
COMMENSAL_DEVICE inline Pair<L> asin_of_half(typename L::V a) {
  const auto z = L::mul(L::sub(L::set(1.0f), a), L::set(0.5f));
  const auto s = L::sqrt(z);
  const auto lost = L::div(L::mul_add(L::neg(s), s, z), L::add(s, s));
  const auto low = L::select(L::equal(s, L::set(0.0f)), s, lost);
  return {s, L::mul_add(s, asin_tail<L>(z), low)};
}

/// |x| <= 1/2: a polynomial; else pi / 2 - 2 asin(sqrt((1 - |x|) / 2)).
template <class L>
COMMENSAL_DEVICE inline typename L::V asin(typename L::V x) {
  const auto a = L::abs(x);
  const auto small = L::mul_add(a, asin_tail<L>(L::mul(a, a)), a);
  const auto half = asin_of_half<L>(a);
  const auto minus_2 = L::set(-2.0f);
  const auto sum = exact_sum<L>(L::set(0x1.921fb6p+0f), L::mul(half.high, minus_2));
  const auto low = L::add(sum.low, L::mul_add(half.low, minus_2, L::set(-0x1.777a5cp-25f)));
  const auto large = L::add(sum.high, low);
  const auto is_small = L::negate(L::less(L::set(0.5f), a));
  return canonical<L>(with_sign_of<L>(x, L::select(is_small, small, large)));
}

/// |x| <= 1/2: pi / 2 - asin(x); else 2 asin(sqrt((1 - |x|) / 2)), where x < 0 that from pi.
template <class L>
COMMENSAL_DEVICE inline typename L::V acos(typename L::V x) {
  const auto a = L::abs(x);
  const auto two = L::set(2.0f), minus_2 = L::set(-2.0f);
  const auto half_pi = L::set(0x1.921fb6p+0f), half_pi_low = L::set(-0x1.777a5cp-25f);
  const auto right = exact_sum<L>(half_pi, L::neg(x));
  const auto tail = L::mul_add(L::neg(x), asin_tail<L>(L::mul(a, a)), half_pi_low);
  const auto small = L::add(right.high, L::add(right.low, tail));
  const auto half = asin_of_half<L>(a);
  const auto above = L::mul(L::add(half.high, half.low), two);
  const auto left = exact_sum<L>(L::mul(half_pi, two), L::mul(half.high, minus_2));
  const auto left_low = L::mul_add(half.low, minus_2, L::mul(half_pi_low, two));
  const auto below = L::add(left.high, L::add(left.low, left_low));
  const auto large = L::select(L::less(x, L::set(0.0f)), below, above);
  const auto is_small = L::negate(L::less(L::set(0.5f), a));
  return canonical<L>(L::select(is_small, small, large));
}

/// Turned by 0, pi / 4 or pi / 2 so that a polynomial on [-tan(pi / 8), tan(pi / 8)] serves.
template <class L>
COMMENSAL_DEVICE inline typename L::V atan(typename L::V x) {
  const auto a = L::abs(x), one = L::set(1.0f), zero = L::set(0.0f);
  const auto middle = L::less(L::set(0.4142135f), a), far = L::less(L::set(2.4142135f), a);
  const auto over = L::select(far, L::set(-1.0f), L::select(middle, L::sub(a, one), a));
  const auto under = L::select(far, a, L::select(middle, L::add(a, one), one));
  const auto turn =
      L::select(far, L::set(0x1.921fb6p+0f), L::select(middle, L::set(0x1.921fb6p-1f), zero));
  const auto turn_low =
      L::select(far, L::set(-0x1.777a5cp-25f), L::select(middle, L::set(-0x1.777a5cp-26f), zero));
  const auto t = L::div(over, under), square = L::mul(t, t);
  auto p = L::set(-0x1.08351cp-4f);
  p = L::mul_add(p, square, L::set(0x1.b80b48p-4f));
  p = L::mul_add(p, square, L::set(-0x1.241ffap-3f));
  p = L::mul_add(p, square, L::set(0x1.999730p-3f));
  p = L::mul_add(p, square, L::set(-0x1.555554p-2f));
  const auto sum = exact_sum<L>(turn, t);
  const auto low = L::add(sum.low, L::mul_add(L::mul(t, square), p, turn_low));
  return canonical<L>(with_sign_of<L>(x, L::add(sum.high, low)));
}
