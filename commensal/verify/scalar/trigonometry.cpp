// SPDX-License-Identifier: Apache-2.0
// sin, cos, tan and their inverses (docs/numerics.md, "Functions"); the coefficients are the
// specification's. Angles are reduced as by Payne and Hanek, 1983.
#include <algorithm>
#include <commensal/verify/scalar/function_parts.hpp>
#include <commensal/verify/scalar/functions.hpp>

namespace commensal::scalar {
namespace {

constexpr std::uint32_t kHalfPi = 0x3fc90fdb, kHalfPiLow = 0xb33bbd2e;
constexpr std::uint32_t kMinusTwo = 0xc0000000, kQuarterPi = 0x3f490fda;

// x minus the nearest multiple of 4, exactly; 0 from 2^25 on, where all numbers are multiples.
std::uint32_t modulo_4(std::uint32_t x) {
  if (!S::less(S::abs(x), 0x4c000000)) return 0;
  const std::uint32_t n = S::of_integer(nearest(S::mul(x, 0x3e800000)));
  return S::fma(n, 0xc0800000, x);
}

// An angle as r + quadrant * pi / 2; modulo 4 the quadrant counts.
struct Angle {
  Pair r;
  std::int32_t quadrant = 0;
};

// 2 / pi * 256^j modulo 4, in four numbers.
constexpr std::uint32_t kTwoOverPi[14][4] = {{0x3f22f983, 0x32dc9c88, 0x25a94fe1, 0x18eafa3f},
                                             {0x403e60dc, 0xb3d8ddf5, 0xa75603d9, 0x1aafa3ea},
                                             {0x3fc1b727, 0x32882a54, 0xa4762a0c, 0x17fa9a6f},
                                             {0x405b9391, 0x31a94fe1, 0x24eafa3f, 0x9832c890},
                                             {0x40139105, 0x3394fe14, 0xa7282e0b, 0x1a537703},
                                             {0x4011054a, 0x33fe13ac, 0xa6382b2d, 0x19ee06db},
                                             {0x3da94fe1, 0x30eafa3f, 0xa432c890, 0x175b6296},
                                             {0x3f94fe14, 0xb3282e0b, 0x26537703, 0x19db14ad},
                                             {0x3ffe13ac, 0xb2382b2d, 0x25ee06db, 0x1825664f},
                                             {0x3e1d5f48, 0xb12cb224, 0x235b6296, 0x96cd8779},
                                             {0x4055f47d, 0x339a6ee0, 0x275b6296, 0x9acd8779},
                                             {0x40747d4d, 0x335dc0db, 0x26c52b32, 0x1a710e41},
                                             {0x3ffa9a6f, 0xb27c9276, 0x25acc9e2, 0x18641080},
                                             {0x3f9a6ee0, 0x335b6296, 0xa6cd8779, 0x19820ff3}};

constexpr std::size_t kTerms = 7;
using Terms = std::array<std::uint32_t, kTerms>;

// Sums the terms up into the last one; what is lost stays behind, so that the sum is the same.
void distil(Terms& term) {
  for (std::size_t i = 1; i < kTerms; ++i) {
    const Pair sum = exact_sum(term[i], term[i - 1]);
    term[i] = sum.high;
    term[i - 1] = sum.low;
  }
}

// For finite a >= 0.
Angle reduce_angle(std::uint32_t a) {
  if (S::less(a, kQuarterPi)) return {{a, 0}, 0};
  // j makes a's last bit weigh less than 256.
  const int last = static_cast<int>(a >> 23) - 150;
  const int j = std::max(last, 0) / 8;
  const std::uint32_t scaled = S::mul(a, power_of_2(-8 * j));
  std::array<std::uint32_t, 4> high{};
  std::array<std::uint32_t, 3> low{};
  for (std::size_t k = 0; k < 4; ++k) high[k] = S::mul(scaled, kTwoOverPi[j][k]);
  for (std::size_t k = 0; k < 3; ++k) low[k] = S::fma(scaled, kTwoOverPi[j][k], S::neg(high[k]));
  Terms term = {high[3],           low[2],           high[2],          low[1],
                modulo_4(high[1]), modulo_4(low[0]), modulo_4(high[0])};
  distil(term);
  distil(term);
  Angle angle;
  angle.quadrant = nearest(term[kTerms - 1]);
  term[kTerms - 1] = S::sub(term[kTerms - 1], S::of_integer(angle.quadrant));
  distil(term);
  std::uint32_t rest = term[0];
  for (std::size_t i = 1; i < kTerms - 1; ++i) rest = S::add(rest, term[i]);
  const std::uint32_t turns = term[kTerms - 1], r = S::mul(turns, kHalfPi);
  std::uint32_t r_low = S::fma(turns, kHalfPi, S::neg(r));
  r_low = S::add(r_low, S::fma(turns, kHalfPiLow, S::mul(rest, kHalfPi)));
  angle.r = exact_sum(r, r_low);
  return angle;
}

std::uint32_t sin_of_reduced(const Pair& r) {
  constexpr std::uint32_t kSeries[] = {0x3636d9c4, 0xb95009c4, 0x3c088887, 0xbe2aaaab};
  const std::uint32_t square = S::mul(r.high, r.high), p = polynomial(square, kSeries);
  const std::uint32_t slope = S::fma(square, 0xbf000000, kOne);
  return S::add(r.high, S::fma(S::mul(r.high, square), p, S::mul(r.low, slope)));
}

std::uint32_t cos_of_reduced(const Pair& r) {
  constexpr std::uint32_t kSeries[] = {0x37cde6e3, 0xbab6095f, 0x3d2aaaaa};
  const std::uint32_t square = S::mul(r.high, r.high);
  const std::uint32_t square_low = S::fma(r.high, r.high, S::neg(square));
  const std::uint32_t half = S::mul(square, kHalf), high = S::sub(kOne, half);
  std::uint32_t low = S::sub(S::sub(kOne, high), half);
  low = S::fma(square_low, 0xbf000000, low);
  low = S::fma(S::neg(r.high), r.low, low);
  return S::add(high, S::fma(S::mul(square, square), polynomial(square, kSeries), low));
}

// sin of |x|, cos.
struct SinCos {
  std::uint32_t sin = kNan, cos = kNan;
};
SinCos sin_cos(std::uint32_t x) {
  const std::uint32_t a = S::abs(x);
  if (S::is_nan(a) || S::is_infinite(a)) return {};
  const Angle angle = reduce_angle(a);
  const std::uint32_t s = sin_of_reduced(angle.r), c = cos_of_reduced(angle.r);
  const bool swapped = (angle.quadrant & 1) != 0, half_turn = (angle.quadrant & 2) != 0;
  const std::uint32_t sine = swapped ? c : s, cosine = swapped ? S::neg(s) : c;
  return {half_turn ? S::neg(sine) : sine, half_turn ? S::neg(cosine) : cosine};
}

std::uint32_t odd(std::uint32_t x, std::uint32_t value) {
  return S::is_negative(x) ? S::neg(value) : value;
}

// (asin(s) - s) / s for s = sqrt(square) in [0, 1/2].
std::uint32_t asin_tail(std::uint32_t square) {
  constexpr std::uint32_t kSeries[] = {0x3d0a09c6, 0x3c8c70fb, 0x3cfec90d,
                                       0x3d36adc7, 0x3d999a19, 0x3e2aaaaa};
  return S::mul(polynomial(square, kSeries), square);
}

// asin(sqrt((1 - a) / 2)) for a in [1/2, 1], in two parts.
Pair asin_of_half(std::uint32_t a) {
  const std::uint32_t z = S::mul(S::sub(kOne, a), kHalf), s = S::sqrt(z);
  const std::uint32_t lost = S::div(S::fma(S::neg(s), s, z), S::add(s, s));
  return {s, S::fma(s, asin_tail(z), S::is_zero(s) ? s : lost)};
}

}  // namespace

std::uint32_t sin(std::uint32_t x) { return odd(x, sin_cos(x).sin); }
std::uint32_t cos(std::uint32_t x) { return sin_cos(x).cos; }
std::uint32_t tan(std::uint32_t x) {
  const SinCos both = sin_cos(x);
  return odd(x, S::div(both.sin, both.cos));
}

std::uint32_t asin(std::uint32_t x) {
  const std::uint32_t a = S::abs(x);
  if (!S::less(kHalf, a)) {
    return S::canonical(with_sign_of(x, S::fma(a, asin_tail(S::mul(a, a)), a)));
  }
  const Pair half = asin_of_half(a);
  const Pair sum = exact_sum(kHalfPi, S::mul(half.high, kMinusTwo));
  const std::uint32_t low = S::add(sum.low, S::fma(half.low, kMinusTwo, kHalfPiLow));
  return S::canonical(with_sign_of(x, S::add(sum.high, low)));
}

std::uint32_t acos(std::uint32_t x) {
  const std::uint32_t a = S::abs(x);
  if (!S::less(kHalf, a)) {
    const Pair right = exact_sum(kHalfPi, S::neg(x));
    const std::uint32_t tail = S::fma(S::neg(x), asin_tail(S::mul(a, a)), kHalfPiLow);
    return S::add(right.high, S::add(right.low, tail));
  }
  const Pair half = asin_of_half(a);
  if (!S::less(x, 0)) return S::mul(S::add(half.high, half.low), kTwo);
  const Pair left = exact_sum(S::mul(kHalfPi, kTwo), S::mul(half.high, kMinusTwo));
  const std::uint32_t low = S::fma(half.low, kMinusTwo, S::mul(kHalfPiLow, kTwo));
  return S::add(left.high, S::add(left.low, low));
}

std::uint32_t atan(std::uint32_t x) {
  constexpr std::uint32_t kSeries[] = {0xbd841a8e, 0x3ddc05a4, 0xbe120ffd, 0x3e4ccb98, 0xbeaaaaaa};
  const std::uint32_t a = S::abs(x);
  // Turned by 0, pi / 4 or pi / 2 so that a polynomial on [-tan(pi / 8), tan(pi / 8)] serves.
  std::uint32_t over = a, under = kOne, turn = 0, turn_low = 0;
  if (S::less(0x401a8279, a)) {
    over = kOne ^ Binary32::kSign, under = a, turn = kHalfPi, turn_low = kHalfPiLow;
  } else if (S::less(0x3ed413cb, a)) {
    over = S::sub(a, kOne), under = S::add(a, kOne);
    turn = 0x3f490fdb, turn_low = 0xb2bbbd2e;
  }
  const std::uint32_t t = S::div(over, under), square = S::mul(t, t);
  const Pair sum = exact_sum(turn, t);
  const std::uint32_t p = polynomial(square, kSeries);
  const std::uint32_t low = S::add(sum.low, S::fma(S::mul(t, square), p, turn_low));
  return S::canonical(with_sign_of(x, S::add(sum.high, low)));
}

}  // namespace commensal::scalar
