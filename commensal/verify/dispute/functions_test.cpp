// SPDX-License-Identifier: Apache-2.0
// The arbiter's functions (verify/scalar) against those of the kernels.
#include <gtest/gtest.h>

#include <bit>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/testing/random_calls.hpp>
#include <commensal/verify/scalar/functions.hpp>

namespace commensal::dispute {
namespace {

using kernels::testing::Draw;

struct Function {
  const char* name;
  std::uint32_t (*soft)(std::uint32_t);
  float (*hard)(float);
};
using Lane = kernels::math::ScalarLanes;
constexpr Function kFunctions[] = {
    {"exp", scalar::exp, kernels::math::exp<Lane>},
    {"log", scalar::log, kernels::math::log<Lane>},
    {"tanh", scalar::tanh, kernels::math::tanh<Lane>},
    {"sigmoid", scalar::sigmoid, kernels::math::sigmoid<Lane>},
    {"erf", scalar::erf, kernels::math::erf<Lane>},
    {"softplus", scalar::softplus, kernels::math::softplus<Lane>},
    {"sin", scalar::sin, kernels::math::sin<Lane>},
    {"cos", scalar::cos, kernels::math::cos<Lane>},
    {"tan", scalar::tan, kernels::math::tan<Lane>},
    {"asin", scalar::asin, kernels::math::asin<Lane>},
    {"acos", scalar::acos, kernels::math::acos<Lane>},
    {"atan", scalar::atan, kernels::math::atan<Lane>},
    {"sinh", scalar::sinh, kernels::math::sinh<Lane>},
    {"cosh", scalar::cosh, kernels::math::cosh<Lane>},
    {"asinh", scalar::asinh, kernels::math::asinh<Lane>},
    {"acosh", scalar::acosh, kernels::math::acosh<Lane>},
    {"atanh", scalar::atanh, kernels::math::atanh<Lane>},
};

void compare(const Function& function, std::uint64_t stride) {
  for (std::uint64_t bits = 0; bits <= UINT32_MAX; bits += stride) {
    const float y = function.hard(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const std::uint32_t expected = y != y ? 0x7fc00000 : std::bit_cast<std::uint32_t>(y);
    ASSERT_EQ(function.soft(static_cast<std::uint32_t>(bits)), expected)
        << function.name << std::hex << " " << bits;
  }
}

TEST(EqualityOfFunctions, OnEvery4999thNumber) {
  for (const Function& function : kFunctions) compare(function, 4999);
}
TEST(EqualityOfFunctions, PowOnAGridAndOnSpecialPairs) {
  std::vector<std::uint32_t> numbers = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                        0xff800000, 0x7fc00000, 1,          0x80000001, 0x007fffff,
                                        0x7f7fffff, 0x3f000000, 0xc0400000, 0x40000000, 0xc0000000,
                                        0x4b800000, 0xcb7fffff, 0x4b7fffff, 0x40200000, 0x3f7fffff};
  Draw draw(7, 96);
  for (int i = 0; i < 400; ++i) {
    numbers.push_back(
        static_cast<std::uint32_t>(draw.number(0, 0xffff) << 16 | draw.number(0, 0xffff)));
    numbers.push_back(0x3f000000 + static_cast<std::uint32_t>(draw.number(0, 0x02000000)));
  }
  for (const std::uint32_t x : numbers) {
    for (const std::uint32_t y : numbers) {
      const float power =
          kernels::math::pow<Lane>(std::bit_cast<float>(x), std::bit_cast<float>(y));
      const std::uint32_t expected =
          power != power ? 0x7fc00000 : std::bit_cast<std::uint32_t>(power);
      ASSERT_EQ(scalar::pow(x, y), expected) << std::hex << x << " " << y;
    }
  }
}
TEST(ExhaustiveFunctionsOfArbiters, OnAllNumbers) {
  for (const Function& function : kFunctions) compare(function, 1);
}

}  // namespace
}  // namespace commensal::dispute
