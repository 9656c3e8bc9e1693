// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/math/binary64.hpp>
#include <commensal/compute/kernels/math/pair64.hpp>
#include <limits>

namespace commensal::kernels::math::binary64 {
namespace {

using Truth = long double (*)(long double);
using Function = double (*)(double);

// Where long double is no longer than double (not on x86-64) there is nothing to measure with.
constexpr bool kHasTruth = std::numeric_limits<long double>::digits >= 64;

// The distance from the true value in units of the last place of the true value as a double.
double ulp_error(double got, long double truth) {
  if (std::isnan(truth)) return std::isnan(got) ? 0 : INFINITY;
  if (static_cast<double>(truth) == got) return 0;
  if (!std::isfinite(got)) return INFINITY;
  const int exponent = std::max(std::ilogb(truth), -1022);
  const long double unit = std::ldexp(1.0L, exponent - 52);
  return static_cast<double>(std::abs(static_cast<long double>(got) - truth) / unit);
}

long double true_sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double true_softplus(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x)));
}

struct Case {
  const char* name;
  Function function;
  Truth truth;
  double ulp_max;  // the function's stated bound
};
// Names the parameter in test lists.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const Case kCases[] = {
    {"exp", exp, std::exp, 0.75},      {"log", log, std::log, 0.51},
    {"tanh", tanh, std::tanh, 2.3},    {"sigmoid", sigmoid, true_sigmoid, 2.0},
    {"erf", erf, std::erf, 3},         {"softplus", softplus, true_softplus, 1.5},
    {"sin", sin, std::sin, 0.72},      {"cos", cos, std::cos, 0.75},
    {"tan", tan, std::tan, 2.1},       {"asin", asin, std::asin, 0.62},
    {"acos", acos, std::acos, 0.63},   {"atan", atan, std::atan, 0.65},
    {"sinh", sinh, std::sinh, 2.1},    {"cosh", cosh, std::cosh, 1.1},
    {"asinh", asinh, std::asinh, 1.5}, {"acosh", acosh, std::acosh, 1.3},
    {"atanh", atanh, std::atanh, 1.4},
};

class Binary64Functions : public ::testing::TestWithParam<Case> {};

// Bit patterns spread over all doubles, and numbers where the functions do something.
TEST_P(Binary64Functions, StayWithinTheStatedErrorOnASample) {
  if (!kHasTruth) GTEST_SKIP() << "no longer type to compare with";
  double worst = 0, at = 0;
  const auto measure = [&](double x) {
    const double error = ulp_error(GetParam().function(x), GetParam().truth(x));
    if (error > worst) worst = error, at = x;
  };
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const double u =
        core::counter_symmetric_f32(1, 1, i) + 0x1p-24 * core::counter_symmetric_f32(1, 2, i);
    const double v = core::counter_symmetric_f32(1, 3, i);
    measure(u);
    measure(u * 800);
    measure(std::ldexp(u, static_cast<int>(v * 1070)));
  }
  for (const double x : {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0x1p-1074, 709.7, 710.4, -745.1}) {
    measure(x);
  }
  EXPECT_LE(worst, GetParam().ulp_max) << "at " << at;
  RecordProperty("ulp", std::to_string(worst));
}
INSTANTIATE_TEST_SUITE_P(All, Binary64Functions, ::testing::ValuesIn(kCases));

TEST(Binary64Angles, SurviveTheWorstArgumentsOfTheirReduction) {
  if (!kHasTruth) GTEST_SKIP() << "no longer type to compare with";
  // 6381956970095103 * 2^797 is the double closest to a multiple of pi / 2.
  for (const double x : {std::ldexp(6381956970095103.0, 797), 0x1.921fb54442d18p+0, 1e22,
                         std::numeric_limits<double>::max()}) {
    EXPECT_LE(ulp_error(sin(x), std::sin(static_cast<long double>(x))), 1) << x;
    EXPECT_LE(ulp_error(cos(x), std::cos(static_cast<long double>(x))), 1) << x;
  }
}

TEST(Binary64Functions, KeepSignsAndSpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Function odd : {sin, tan, asin, atan, sinh, asinh, atanh, tanh, erf}) {
    EXPECT_EQ(bits_of(odd(-0.0)), bits_of(-0.0));
    EXPECT_EQ(bits_of(odd(0.0)), bits_of(0.0));
  }
  for (const Case& one : kCases) {
    EXPECT_TRUE(std::isnan(one.function(NAN))) << one.name;
    EXPECT_LE(ulp_error(one.function(infinity), one.truth(infinity)), 1) << one.name;
    EXPECT_LE(ulp_error(one.function(-infinity), one.truth(-infinity)), 1) << one.name;
  }
}

TEST(Binary64Pow, FollowsTheSpecialCasesOfC) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {0.0, -0.0, 1.0,  -1.0,     0.5,       -0.5, 2.0,    -2.0,      3.0,
                           2.5, -2.5, -3.0, infinity, -infinity, NAN,  0x1p53, 0x1p53 - 1};
  for (const double x : values) {
    for (const double y : values) {
      const double truth = std::pow(x, y), got = pow(x, y);
      if (std::isnan(truth)) {
        EXPECT_TRUE(std::isnan(got)) << x << "^" << y;
      } else {
        EXPECT_LE(ulp_error(got, truth), 1) << x << "^" << y;
        EXPECT_EQ(std::signbit(got), std::signbit(truth)) << x << "^" << y;
      }
    }
  }
}

TEST(Binary64Pow, StaysWithinTheStatedError) {
  if (!kHasTruth) GTEST_SKIP() << "no longer type to compare with";
  double worst = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const double u = core::counter_symmetric_f32(2, 1, i), v = core::counter_symmetric_f32(2, 2, i);
    const double x = std::ldexp(1.5 + 0.5 * u, static_cast<int>(v * 900));
    const double y = core::counter_symmetric_f32(2, 3, i) * (i % 2 == 0 ? 3 : 300);
    const long double truth = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    worst = std::max(worst, ulp_error(pow(x, y), truth));
  }
  EXPECT_LE(worst, 0.71);
  RecordProperty("ulp", std::to_string(worst));
}

}  // namespace
}  // namespace commensal::kernels::math::binary64
