// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// Unevaluated sums of two binary64 numbers, for the steps of math/binary64*.cpp where one number
/// is not enough (Dekker, "A floating-point technique for extending the available precision",
/// 1971; Knuth's two-sum).
namespace commensal::kernels::math::binary64 {

/// high + low, |low| at most about half an ulp of high.
struct Pair {
  double high = 0, low = 0;
};

/// a + b exactly.
inline Pair exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
/// a * b exactly, unless it underflows.
inline Pair exact_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}
inline Pair add(Pair a, Pair b) {
  const Pair sum = exact_sum(a.high, b.high);
  return exact_sum(sum.high, sum.low + (a.low + b.low));
}
inline Pair multiply(Pair a, Pair b) {
  const Pair product = exact_product(a.high, b.high);
  const double cross = std::fma(a.high, b.low, a.low * b.high);
  return exact_sum(product.high, product.low + cross);
}
inline Pair divide(Pair a, Pair b) {
  const double quotient = a.high / b.high;
  const double rest = std::fma(-quotient, b.high, a.high);
  const double low = (std::fma(-quotient, b.low, rest) + a.low) / b.high;
  return exact_sum(quotient, low);
}

inline std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
inline bool is_negative(double x) { return bits_of(x) >> 63 != 0; }
inline double magnitude(double x) { return std::bit_cast<double>(bits_of(x) & ~(1ull << 63)); }
/// `value` >= 0 with the sign of x.
inline double with_sign_of(double x, double value) { return is_negative(x) ? -value : value; }

inline constexpr Pair kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
inline constexpr Pair kLog2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
// The first part is so short that its multiples by exponents are exact.
inline constexpr double kLog2Short = 0x1.62e4200000000p-1, kLog2Rest = 0x1.fdf473de6af28p-22;

/// exp(x) * 2^scale for |x.low| at most about an ulp of x.high.
double exp_of(Pair x, int scale = 0);
/// exp(x) - 1.
double exp_minus_1(double x);
/// log(x) for finite x > 0.
Pair log_of(double x);
/// log(1 + x) for x > -1.
double log_1_plus(double x);

/// An angle as r + quadrant * pi / 2, |r| at most about pi / 4; the quadrant counts modulo 4.
struct Angle {
  Pair r;
  unsigned quadrant = 0;
};
/// Of finite a >= 0.
Angle reduce(double a);

}  // namespace commensal::kernels::math::binary64
