// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/kernels/math/turns.hpp>

namespace commensal::kernels::math {
namespace {

// In units of the last place of the true value as a float.
double ulp_error(float got, long double truth) {
  if (static_cast<float>(truth) == got) return 0;
  const int exponent = std::max(std::ilogb(static_cast<double>(truth)), -126);
  return static_cast<double>(std::abs(got - truth)) / std::ldexp(1.0, exponent - 23);
}

// The true angle is reduced to an eighth of a turn first: pi is no long double either.
struct Truth {
  long double cos = 0, sin = 0;
};
Truth truth_of(std::int64_t m, std::int64_t n) {
  const long double pi = std::acos(-1.0L);
  const std::int64_t quadrant = 4 * (m % n) / n, rest = 4 * (m % n) - quadrant * n;
  const bool over = 2 * rest > n;
  const long double angle = pi / 2 * (over ? n - rest : rest) / n;
  const long double c = over ? std::sin(angle) : std::cos(angle);
  const long double s = over ? std::cos(angle) : std::sin(angle);
  const Truth turned[] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
  return turned[quadrant];
}

TEST(Turns, AreNearTheTruth) {
  double worst = 0;
  const auto check = [&](std::int64_t m, std::int64_t n) {
    const Turned got = turned(m, n);
    const Truth truth = truth_of(m, n);
    worst = std::max({worst, ulp_error(got.cos, truth.cos), ulp_error(got.sin, truth.sin)});
  };
  for (std::int64_t n = 1; n <= 600; ++n) {
    for (std::int64_t m = 0; m < n; ++m) check(m, n);
  }
  for (const std::int64_t n : {kTurnsMax, kTurnsMax - 1, std::int64_t{1234567}}) {
    for (std::int64_t m = 0; m < n; m += 997) check(m, n);
  }
  EXPECT_LE(worst, 0.75);  // docs/numerics.md states it
  EXPECT_GT(worst, 0.5);   // so something was measured
}

TEST(Turns, QuartersAreExactAndZerosPositive) {
  const float cos[] = {1, 0, -1, 0}, sin[] = {0, 1, 0, -1};
  for (const std::int64_t n : {4, 12, 1 << 20}) {
    for (std::int64_t quarter = 0; quarter < 8; ++quarter) {
      const Turned got = turned(quarter * n / 4, n);
      EXPECT_EQ(got.cos, cos[quarter % 4]);
      EXPECT_EQ(got.sin, sin[quarter % 4]);
      EXPECT_FALSE(got.cos == 0 && std::signbit(got.cos));
      EXPECT_FALSE(got.sin == 0 && std::signbit(got.sin));
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::math
