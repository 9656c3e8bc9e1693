// SPDX-License-Identifier: Apache-2.0
// sin, cos, tan and their inverses. Angles are reduced as by Payne and Hanek ("Radian reduction for
// trigonometric functions", 1983), in integers. Polynomials as in binary64.cpp.
#include <commensal/compute/kernels/math/binary64.hpp>
#include <commensal/compute/kernels/math/pair64.hpp>
#include <limits>

namespace commensal::kernels::math::binary64 {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
__extension__ using Wide = unsigned __int128;

// 2 / pi, the binary point before the first bit.
constexpr std::uint64_t kTwoOverPi[20] = {
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu,
    0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu, 0xf0cfbc209af4361du};

// 64 bits of 2 / pi from bit `first` on; zeros before the first bit.
std::uint64_t window(int first) {
  const int shifted = first + 64;  // never negative here
  const int word = shifted / 64 - 1, bit = shifted % 64;
  const auto at = [](int i) { return i < 0 ? 0 : kTwoOverPi[i]; };
  return bit == 0 ? at(word) : at(word) << bit | at(word + 1) >> (64 - bit);
}

// The three words are a number in [0, 4), two bits before the binary point. Without branches that
// nobody could foretell.
Angle from_turns(std::uint64_t high, std::uint64_t middle, std::uint64_t low) {
  Angle angle;
  Wide fraction = (Wide{high} << 64 | middle) << 2 | low >> 62;
  const auto rounds_up = static_cast<unsigned>(fraction >> 127);
  angle.quadrant = static_cast<unsigned>(high >> 62) + rounds_up;
  const Wide mask = Wide{0} - rounds_up;
  fraction = (fraction ^ mask) - mask;  // its negative
  const auto upper = static_cast<std::uint64_t>(fraction >> 64);
  const auto lower = static_cast<std::uint64_t>(fraction);
  if (upper == 0 && lower == 0) return angle;
  const int zeros = upper != 0 ? std::countl_zero(upper) : 64 + std::countl_zero(lower);
  fraction <<= zeros;
  // The first 53 bits, then as many again.
  const auto first = static_cast<double>(static_cast<std::int64_t>(fraction >> 75));
  const auto second = static_cast<double>(static_cast<std::int64_t>(
      static_cast<std::uint64_t>(fraction >> 22) & ((std::uint64_t{1} << 53) - 1)));
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - 53 - zeros) << 52);
  const Pair turns = exact_sum(first * scale, second * scale * 0x1p-53);
  const double sign = 1.0 - 2.0 * rounds_up;
  angle.r = multiply(turns, kHalfPi);
  angle.r = {sign * angle.r.high, sign * angle.r.low};
  return angle;
}

}  // namespace

// With a = m 2^e, bits of 2 / pi before e - 2 give multiples of 4.
Angle reduce(double a) {
  if (a < 0x1.921fb54442d18p-1) return {{a, 0.0}, 0};
  const int exponent = static_cast<int>(bits_of(a) >> 52) - 1023 - 52;
  const std::uint64_t m = (bits_of(a) & 0x000fffffffffffffu) | 0x0010000000000000u;
  const int first = exponent - 2;
  const Wide low = Wide{m} * window(first + 128);
  const Wide middle = Wide{m} * window(first + 64) + static_cast<std::uint64_t>(low >> 64);
  const std::uint64_t high = m * window(first) + static_cast<std::uint64_t>(middle >> 64);
  return from_turns(high, static_cast<std::uint64_t>(middle), static_cast<std::uint64_t>(low));
}

namespace {

// sum of (-z)^k / ((first + 1) ... (first + 2k)), k from 1 to 9.
double alternating_tail(double z, int first) {
  double sum = 0;
  for (int k = 9; k >= 1; --k) {
    const double divisor = (first + 2 * k - 1) * (first + 2 * k);
    sum = (sum + 1) * (-z / divisor);
  }
  return sum;
}

double sin_of(const Pair& r) {
  const double z = r.high * r.high;
  return r.high + (r.high * alternating_tail(z, 1) + r.low * (1 - 0.5 * z));
}

double cos_of(const Pair& r) {
  const Pair square = exact_product(r.high, r.high);
  const Pair first = exact_sum(1.0, -0.5 * square.high);
  const double z = square.high;
  // What alternating_tail gives beyond -z / 2.
  const double rest = -0.5 * z * alternating_tail(z, 2);
  return first.high + (first.low + (rest - 0.5 * square.low - r.high * r.low));
}

/// Of |x|.
struct SinCos {
  double sin = 0, cos = 0;
};
SinCos sin_cos(double a) {
  const Angle angle = reduce(a);
  const double s = sin_of(angle.r), c = cos_of(angle.r);
  switch (angle.quadrant & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

bool is_finite(double x) { return magnitude(x) < std::numeric_limits<double>::infinity(); }

// (asin(s) - s) / s for z = s^2 <= 1/4.
double asin_tail(double z) {
  double sum = 0;
  for (int k = 28; k >= 1; --k) {
    // The ratio of neighbouring terms of the series of asin.
    const double ratio = (2.0 * k - 1) * (2 * k - 1) / (2.0 * k * (2 * k + 1));
    sum = (sum + 1) * (ratio * z);
  }
  return sum;
}

// asin(sqrt((1 - a) / 2)) for a in [1/2, 1].
Pair asin_of_half(double a) {
  const double z = (1 - a) * 0.5, s = std::sqrt(z);
  if (s == 0) return {};
  const double lost = std::fma(-s, s, z) / (s + s);
  return exact_sum(s, lost + s * asin_tail(z));
}

}  // namespace

double sin(double x) {
  if (!is_finite(x)) return kNan;
  const double value = sin_cos(magnitude(x)).sin;
  return is_negative(x) ? -value : value;
}
double cos(double x) { return is_finite(x) ? sin_cos(magnitude(x)).cos : kNan; }
double tan(double x) {
  if (!is_finite(x)) return kNan;
  const SinCos both = sin_cos(magnitude(x));
  const double value = both.sin / both.cos;
  return is_negative(x) ? -value : value;
}

double asin(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return kNan;
  if (a <= 0.5) return with_sign_of(x, a + a * asin_tail(a * a));
  const Pair half = asin_of_half(a);
  const Pair made = add(kHalfPi, {-2 * half.high, -2 * half.low});
  return with_sign_of(x, made.high + made.low);
}

double acos(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return kNan;
  if (a <= 0.5) {
    const Pair made = add(kHalfPi, exact_sum(-x, -x * asin_tail(x * x)));
    return made.high + made.low;
  }
  const Pair half = asin_of_half(a);
  if (x > 0) return 2 * (half.high + half.low);
  const Pair pi = {2 * kHalfPi.high, 2 * kHalfPi.low};
  const Pair made = add(pi, {-2 * half.high, -2 * half.low});
  return made.high + made.low;
}

// Turned by 0, pi / 4 or pi / 2 so that the series is taken on [-tan(pi / 8), tan(pi / 8)].
double atan(double x) {
  if (x != x) return x;
  const double a = magnitude(x);
  const bool middle = a > 0.41421356, far = a > 2.4142135;
  Pair turn, t = {a, 0.0};
  if (far) {
    turn = kHalfPi;
    t = {-1.0 / a, 0.0};
    if (is_finite(a)) t = divide({-1.0, 0.0}, {a, 0.0});
  } else if (middle) {
    turn = {0.5 * kHalfPi.high, 0.5 * kHalfPi.low};
    t = divide(exact_sum(a, -1.0), exact_sum(a, 1.0));
  }
  const double z = t.high * t.high;
  double sum = 0;
  for (int k = 61; k >= 3; k -= 2) sum = std::fma(sum, -z, 1.0 / k);
  const Pair made = add(turn, exact_sum(t.high, t.low - t.high * z * sum));
  return with_sign_of(x, made.high + made.low);
}

}  // namespace commensal::kernels::math::binary64
