// SPDX-License-Identifier: Apache-2.0
// exp, log and what is made of them. Polynomials are Taylor series, cut where what is left out is
// below a thousandth of an ulp.
#include <commensal/compute/kernels/math/binary64.hpp>
#include <commensal/compute/kernels/math/pair64.hpp>
#include <limits>

namespace commensal::kernels::math::binary64 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double power_of_2(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// exp(r) - 1 - r for |r| <= 1/2: r^2 / 2! + ... + r^18 / 18!.
double exp_tail(double r) {
  double sum = 1;
  for (int k = 18; k >= 3; --k) sum = std::fma(sum, r / k, 1.0);
  return 0.5 * (r * r) * sum;
}

// (atanh(s) - s - s^3 / 3) / s^5 for |s| <= 1/3, z = s^2: 1/5 + z/7 + ... + z^16/37.
double atanh_tail(double z) {
  double sum = 0;
  for (int k = 37; k >= 5; k -= 2) sum = std::fma(sum, z, 1.0 / k);
  return sum;
}

// 2 atanh(s).
Pair twice_atanh(Pair s) {
  const Pair square = multiply(s, s), cube = multiply(square, s);
  const Pair third = divide(cube, {3.0, 0.0});
  const double tail = cube.high * square.high * atanh_tail(square.high);
  const Pair sum = add(add(s, third), {tail, 0.0});
  return {2 * sum.high, 2 * sum.low};
}

}  // namespace

double exp_of(Pair x, int scale) {
  if (x.high != x.high) return x.high;
  if (x.high > 710.5) return kInfinity;
  if (x.high < -746.5) return 0;
  const double n = std::nearbyint(x.high * 0x1.71547652b82fep+0);
  const Pair short_part = exact_sum(std::fma(-n, kLog2Short, x.high), x.low);
  const Pair long_part = exact_product(-n, kLog2Rest);
  const Pair r = add(short_part, long_part);
  const Pair sum = exact_sum(1.0, r.high);
  const double m = sum.high + (sum.low + (exp_tail(r.high) + r.low * (1 + r.high)));
  // In two factors, so that a subnormal result is rounded once.
  const int exponent = static_cast<int>(n) + scale, half = exponent / 2;
  return m * power_of_2(half) * power_of_2(exponent - half);
}

double exp_minus_1(double x) {
  if (magnitude(x) < 0.5) return x + exp_tail(x);
  return exp_of({x, 0}) - 1;
}

Pair log_of(double x) {
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  exponent += static_cast<int>(bits_of(x) >> 52) - 1023;
  double m = std::bit_cast<double>((bits_of(x) & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    m *= 0.5;
    ++exponent;
  }
  const Pair logarithm = twice_atanh(divide(exact_sum(m, -1.0), exact_sum(m, 1.0)));
  const double n = exponent;
  return add(add({n * kLog2Short, 0.0}, exact_product(n, kLog2Rest)), logarithm);
}

double log_1_plus(double x) {
  if (magnitude(x) < 0.5) {
    const Pair made = twice_atanh(divide({x, 0.0}, exact_sum(2.0, x)));
    return made.high + made.low;
  }
  const Pair sum = exact_sum(1.0, x);
  const Pair made = log_of(sum.high);
  return made.high + (made.low + sum.low / sum.high);
}

double exp(double x) { return exp_of({x, 0.0}); }

double log(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0)) return kNan;
  if (x == kInfinity) return x;
  const Pair made = log_of(x);
  return made.high + made.low;
}

double sigmoid(double x) {
  const double e = exp(-magnitude(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

double softplus(double x) {
  if (x != x) return x;
  return (x > 0 ? x : 0.0) + log_1_plus(exp(-magnitude(x)));
}

double tanh(double x) {
  const double a = magnitude(x);
  if (a > 22) return with_sign_of(x, 1.0);
  const double e = exp_minus_1(a + a);
  return with_sign_of(x, e / (e + 2));
}

// Below 1.5: (2 / sqrt(pi)) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...), all terms positive;
// above, 1 - erfc(x) by the continued fraction of erfc (Abramowitz and Stegun, 7.1.6 and 7.1.14).
double erf(double x) {
  if (x != x) return x;
  const double a = magnitude(x);
  if (a > 6) return with_sign_of(x, 1.0);
  const Pair square = exact_product(a, a);
  const double decay = exp_of({-square.high, -square.low});
  if (a < 1.5) {
    Pair sum = {a, 0.0};
    double term = a;
    for (int k = 1; k < 40; ++k) {
      term = term * (2 * square.high / (2 * k + 1));
      sum = add(sum, {term, 0.0});
    }
    return with_sign_of(x, 0x1.20dd750429b6dp+0 * decay * (sum.high + sum.low));
  }
  double fraction = a;
  for (int k = 100; k >= 1; --k) fraction = a + (0.5 * k) / fraction;
  return with_sign_of(x, 1.0 - 0x1.20dd750429b6dp-1 * decay / fraction);
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return kNan;
  const double a = magnitude(x), y_abs = magnitude(y);
  if (a == 1 && y_abs == kInfinity) return 1;
  const bool integral = y_abs >= 0x1p53 || std::nearbyint(y) == y;
  const bool odd = integral && y_abs < 0x1p53 && (static_cast<std::int64_t>(y_abs) & 1) != 0;
  double made = 0;
  if (a == 0 || a == kInfinity) {
    made = (a == 0) == (y > 0) ? 0.0 : kInfinity;
  } else if (x < 0 && !integral) {
    return kNan;
  } else if (y_abs == kInfinity) {
    made = (a < 1) == (y > 0) ? 0.0 : kInfinity;
  } else {
    const Pair logarithm = log_of(a);
    const double product = y * logarithm.high;
    // Far beyond what exp can hold, y log a need not be exact, and could overflow.
    made =
        magnitude(product) > 1000 ? exp_of({product, 0.0}) : exp_of(multiply({y, 0.0}, logarithm));
  }
  return is_negative(x) && odd ? -made : made;
}

double sinh(double x) {
  const double a = magnitude(x);
  if (a < 1) {
    const double e = exp_minus_1(a);
    return with_sign_of(x, 0.5 * (e + e / (e + 1)));
  }
  const double h = exp_of({a, 0.0}, -1);  // exp(a) / 2
  return with_sign_of(x, h - 0.25 / h);
}

double cosh(double x) {
  const double h = exp_of({magnitude(x), 0.0}, -1);
  return h + 0.25 / h;
}

double asinh(double x) {
  const double a = magnitude(x);
  if (!(a < 0x1p28)) {
    const double large = a < kInfinity ? log(a) + kLog2.high : a;
    return with_sign_of(x, large);
  }
  return with_sign_of(x, log_1_plus(a + a * a / (1 + std::sqrt(a * a + 1))));
}

double acosh(double x) {
  if (!(x >= 1)) return kNan;
  if (!(x < 0x1p28)) return x < kInfinity ? log(x) + kLog2.high : x;
  const double t = x - 1;
  return log_1_plus(t + std::sqrt(2 * t + t * t));
}

double atanh(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return with_sign_of(x, kInfinity);
  return with_sign_of(x, 0.5 * log_1_plus((a + a) / (1 - a)));
}

}  // namespace commensal::kernels::math::binary64
