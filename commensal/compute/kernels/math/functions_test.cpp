// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <cstdint>
#include <limits>

namespace commensal::kernels::math {
namespace {

using Lane = ScalarLanes;
using Function = float (*)(float);
using Truth = double (*)(double);

constexpr std::uint32_t kCanonicalNan = 0x7fc00000;

// The distance from the true value in units of the last place of the true value as a float.
double ulp_error(float got, double truth) {
  if (std::isnan(truth)) {
    return std::bit_cast<std::uint32_t>(got) == kCanonicalNan ? 0 : INFINITY;
  }
  if (static_cast<float>(truth) == got) return 0;  // infinities too
  if (!std::isfinite(got)) return INFINITY;
  const int exponent = std::max(std::ilogb(truth), -126);
  return std::abs(static_cast<double>(got) - truth) / std::ldexp(1.0, exponent - 23);
}

double worst_over(Function function, Truth truth, std::uint32_t stride) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    worst = std::max(worst, ulp_error(function(x), truth(static_cast<double>(x))));
  }
  return worst;
}

struct Case {
  const char* name;
  Function function;
  Truth truth;
  double ulp_max;  // the function's stated bound
};

// Names the parameter in test lists.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

double true_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double true_softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

const Case kCases[] = {
    {"exp", exp<Lane>, std::exp, 1.01},       {"log", log<Lane>, std::log, 1.0},
    {"tanh", tanh<Lane>, std::tanh, 1.3},     {"sigmoid", sigmoid<Lane>, true_sigmoid, 2.41},
    {"erf", erf<Lane>, std::erf, 1.3},        {"softplus", softplus<Lane>, true_softplus, 2.02},
    {"sin", sin<Lane>, std::sin, 0.76},       {"cos", cos<Lane>, std::cos, 0.76},
    {"tan", tan<Lane>, std::tan, 2.25},       {"asin", asin<Lane>, std::asin, 0.63},
    {"acos", acos<Lane>, std::acos, 0.62},    {"atan", atan<Lane>, std::atan, 1.89},
    {"sinh", sinh<Lane>, std::sinh, 1.69},    {"cosh", cosh<Lane>, std::cosh, 1.5},
    {"asinh", asinh<Lane>, std::asinh, 1.31}, {"acosh", acosh<Lane>, std::acosh, 2.49},
    {"atanh", atanh<Lane>, std::atanh, 1.36},
};

class Functions : public testing::TestWithParam<Case> {};
TEST_P(Functions, StayWithinTheStatedErrorOnASample) {
  const double worst = worst_over(GetParam().function, GetParam().truth, 4999);
  EXPECT_LE(worst, GetParam().ulp_max);
  RecordProperty("ulp", std::to_string(worst));
}
INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(kCases));

TEST(FunctionsOfSpecialValues, AreExact) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp<Lane>(0.0f), 1.0f);
  EXPECT_EQ(exp<Lane>(-infinity), 0.0f);
  EXPECT_EQ(log<Lane>(1.0f), 0.0f);
  EXPECT_EQ(log<Lane>(0.0f), -infinity);
  EXPECT_TRUE(std::signbit(tanh<Lane>(-0.0f)));
  EXPECT_EQ(tanh<Lane>(-100.0f), -1.0f);
  EXPECT_EQ(erf<Lane>(5.0f), 1.0f);
  EXPECT_EQ(sigmoid<Lane>(0.0f), 0.5f);
}

TEST(FunctionsOfSpecialValues, KeepTheSignOfZeroAndTheirDomains) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Function odd :
       {sin<Lane>, tan<Lane>, asin<Lane>, atan<Lane>, sinh<Lane>, asinh<Lane>, atanh<Lane>}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(odd(-0.0f)), 0x80000000u);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(odd(0.0f)), 0u);
  }
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (const Function bounded : {sin<Lane>, cos<Lane>, tan<Lane>, asin<Lane>, acos<Lane>}) {
    EXPECT_EQ(bits(bounded(-infinity)), kCanonicalNan);
  }
  EXPECT_EQ(bits(acosh<Lane>(0.5f)), kCanonicalNan);
  EXPECT_EQ(bits(atanh<Lane>(1.5f)), kCanonicalNan);
  EXPECT_EQ(atanh<Lane>(-1.0f), -infinity);
  EXPECT_EQ(cosh<Lane>(-infinity), infinity);
  EXPECT_EQ(sinh<Lane>(-infinity), -infinity);
  EXPECT_EQ(asinh<Lane>(-infinity), -infinity);
  EXPECT_EQ(bits(acos<Lane>(1.0f)), 0u);
}

// The numbers that come closest to a multiple of pi / 2 for their size.
TEST(FunctionsOfSpecialValues, SurviveTheWorstArgumentsOfTheirReduction) {
  for (const float x : {0x1.6cbe44p+4f, 0x1.47d0fep+34f, 0x1.ddebdep+120f, 0x1.fffffep+127f}) {
    const auto truth = static_cast<double>(x);
    EXPECT_LE(ulp_error(sin<Lane>(x), std::sin(truth)), 0.75) << x;
    EXPECT_LE(ulp_error(cos<Lane>(x), std::cos(truth)), 0.75) << x;
    EXPECT_LE(ulp_error(tan<Lane>(x), std::tan(truth)), 2.2) << x;
  }
}

TEST(Pow, FollowsTheSpecialCasesOfC) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f,     -0.5f,     2.0f, -2.0f,
                          3.0f, -3.0f, 2.5f, -2.5f, infinity, -infinity, NAN,  16777217.0f};
  for (const float x : values) {
    for (const float y : values) {
      const float got = pow<Lane>(x, y);
      const auto truth = static_cast<float>(std::pow(static_cast<double>(x), y));
      if (std::isnan(truth)) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(got), kCanonicalNan) << x << "^" << y;
      } else {
        EXPECT_LE(ulp_error(got, std::pow(static_cast<double>(x), y)), 1) << x << "^" << y;
        EXPECT_EQ(std::signbit(got), std::signbit(truth)) << x << "^" << y;
      }
    }
  }
}

TEST(Pow, StaysWithinTheStatedErrorOnAGrid) {
  double worst = 0;
  for (std::uint32_t bits = 0x00000001; bits < 0x7f800000; bits += 2000003) {
    const auto x = std::bit_cast<float>(bits);
    for (float y = -130.0f; y < 130.0f; y += 0.37f) {
      worst = std::max(worst, ulp_error(pow<Lane>(x, y), std::pow(static_cast<double>(x), y)));
    }
  }
  for (float x = 0.5f; x < 2.0f; x += 0.00137f) {
    for (float y = -300.0f; y < 300.0f; y += 1.7f) {
      worst = std::max(worst, ulp_error(pow<Lane>(x, y), std::pow(static_cast<double>(x), y)));
    }
  }
  EXPECT_LE(worst, 6);
  RecordProperty("ulp", std::to_string(worst));
}

// The whole truth, minutes long: run with --gtest_also_run_disabled_tests.
class ExhaustiveFunctions : public testing::TestWithParam<Case> {};
TEST_P(ExhaustiveFunctions, DISABLED_StayWithinTheStatedErrorOnAllInputs) {
  const double worst = worst_over(GetParam().function, GetParam().truth, 1);
  EXPECT_LE(worst, GetParam().ulp_max);
  RecordProperty("ulp", std::to_string(worst));
}
INSTANTIATE_TEST_SUITE_P(All, ExhaustiveFunctions, testing::ValuesIn(kCases));

TEST(Extremes, KnowNanAndSignedZero) {
  EXPECT_FALSE(std::signbit(maximum<Lane>(-0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(maximum<Lane>(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(minimum<Lane>(0.0f, -0.0f)));
  EXPECT_EQ(maximum<Lane>(-2.0f, -1.0f), -1.0f);
  const auto strange = std::bit_cast<float>(0xffc12345u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(maximum<Lane>(strange, 1.0f)), kCanonicalNan);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(minimum<Lane>(1.0f, strange)), kCanonicalNan);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(relu<Lane>(-0.0f)), 0u);
}

}  // namespace
}  // namespace commensal::kernels::math
