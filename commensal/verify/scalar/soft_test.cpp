// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic against this machine's floating-point unit, bit for bit: all special cases
// crossed, and random operands of every class of exponent.
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/clock.hpp>
#include <commensal/verify/scalar/soft.hpp>
#include <commensal/verify/scalar/table.hpp>
#include <vector>

namespace commensal::scalar {
namespace {

template <class F>
struct Hardware;
template <>
struct Hardware<Binary32> {
  using Number = float;
};
template <>
struct Hardware<Binary64> {
  using Number = double;
};
template <class F>
using Number = typename Hardware<F>::Number;

template <class F>
Number<F> number(typename F::Bits bits) {
  return std::bit_cast<Number<F>>(bits);
}
/// As the specification stores it.
template <class F>
typename F::Bits bits_of(Number<F> x) {
  return x != x ? F::kNan : std::bit_cast<typename F::Bits>(x);
}

/// A fast generator, one stream for each seed: splitmix64.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

/// A number of any exponent, often near that of `near`, and of a fraction that is random, short or
/// all ones: so that sums cancel, ties occur and results are subnormal.
template <class F>
typename F::Bits draw_number(Draw& draw, typename F::Bits near) {
  using Bits = typename F::Bits;
  const std::uint64_t choice = draw.word();
  Bits fraction = static_cast<Bits>(draw.word()) & F::kFraction;
  if ((choice & 3) == 1)
    fraction &= ~Bits{0} << (F::kFractionBits - static_cast<int>(choice >> 8 & 15));
  if ((choice & 3) == 2) fraction |= F::kFraction >> (choice >> 8 & 15);
  if ((choice & 15) == 3) fraction = static_cast<Bits>(near + (choice >> 12 & 3)) & F::kFraction;
  auto field = static_cast<int>((choice >> 16) % (F::kExponentMax + 1));
  const int close = static_cast<int>((near & F::kInfinity) >> F::kFractionBits);
  if ((choice >> 4 & 1) != 0) field = close + static_cast<int>(choice >> 40 & 127) - 64;
  field = std::min(std::max(field, 0), F::kExponentMax);
  return fraction | static_cast<Bits>(field) << F::kFractionBits |
         (choice >> 63 != 0 ? F::kSign : 0);
}

template <class F>
::testing::AssertionResult same(const char* op, typename F::Bits got, Number<F> expected,
                                std::initializer_list<typename F::Bits> operands) {
  if (got == bits_of<F>(expected)) return ::testing::AssertionSuccess();
  auto report = ::testing::AssertionFailure() << op << std::hex;
  for (const auto operand : operands) report << " " << operand;
  return report << ": " << got << ", the hardware says " << bits_of<F>(expected);
}

template <class F>
void check_pair(typename F::Bits a, typename F::Bits b) {
  using S = Soft<F>;
  const auto x = number<F>(a), y = number<F>(b);
  ASSERT_TRUE((same<F>("add", S::add(a, b), x + y, {a, b})));
  ASSERT_TRUE((same<F>("sub", S::sub(a, b), x - y, {a, b})));
  ASSERT_TRUE((same<F>("mul", S::mul(a, b), x * y, {a, b})));
  ASSERT_TRUE((same<F>("div", S::div(a, b), x / y, {a, b})));
  ASSERT_EQ(S::less(a, b), x < y);
  ASSERT_EQ(S::equal(a, b), x == y);
  ASSERT_TRUE((same<F>("sqrt", S::sqrt(a), std::sqrt(x), {a})));
}

template <class F>
void check_one(typename F::Bits a) {
  using S = Soft<F>;
  const auto x = number<F>(a);
  ASSERT_TRUE((same<F>("floor", S::round(a, S::Towards::kDown), std::floor(x), {a})));
  ASSERT_TRUE((same<F>("ceil", S::round(a, S::Towards::kUp), std::ceil(x), {a})));
  ASSERT_TRUE((same<F>("round", S::round(a, S::Towards::kNearestEven), std::nearbyint(x), {a})));
  ASSERT_TRUE((same<F>("neg", S::neg(a), -x, {a})));
  ASSERT_TRUE((same<F>("abs", S::abs(a), std::abs(x), {a})));
}

template <class F>
std::vector<typename F::Bits> special_cases() {
  using Bits = typename F::Bits;
  const auto at = [](int field, Bits fraction) {
    return static_cast<Bits>(field) << F::kFractionBits | fraction;
  };
  std::vector<Bits> made = {F::kInfinity, F::kNan, F::kNan + 1, F::kInfinity + 1};
  for (const int field :
       {0, 1, 2, F::kFractionBits, F::kFractionBits + 1, F::kFractionBits + 2,
        F::kBias - F::kPrecision - 1, F::kBias - F::kPrecision, F::kBias - F::kFractionBits,
        F::kBias - 1, F::kBias, F::kBias + 1, F::kBias + F::kFractionBits - 1,
        F::kBias + F::kFractionBits, F::kBias + F::kPrecision, F::kExponentMax - F::kPrecision,
        F::kExponentMax - 2, F::kExponentMax - 1}) {
    for (const Bits fraction :
         {Bits{0}, Bits{1}, F::kFraction, F::kFraction - 1, F::kFraction / 2 + 1}) {
      made.push_back(at(field, fraction));
    }
  }
  const std::size_t count = made.size();
  for (std::size_t i = 0; i < count; ++i) made.push_back(made[i] ^ F::kSign);
  return made;
}

template <class F>
void cross_special_cases() {
  const auto all = special_cases<F>();
  for (const auto a : all) {
    check_one<F>(a);
    for (const auto b : all) {
      check_pair<F>(a, b);
      if (::testing::Test::HasFatalFailure()) return;
      for (const auto c : all) {
        const auto expected = std::fma(number<F>(a), number<F>(b), number<F>(c));
        ASSERT_TRUE((same<F>("fma", Soft<F>::fma(a, b, c), expected, {a, b, c})));
      }
    }
  }
}

/// `count` fused multiply-adds; every 16th time the other operations too.
template <class F>
void check_random(std::uint64_t count, std::uint64_t seed) {
  Draw draw(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto one = static_cast<typename F::Bits>(F::kBias) << F::kFractionBits;
    const auto a = draw_number<F>(draw, one), b = draw_number<F>(draw, i % 2 == 0 ? a : one);
    const auto c = draw_number<F>(draw, Soft<F>::mul(a, b));
    const auto expected = std::fma(number<F>(a), number<F>(b), number<F>(c));
    ASSERT_TRUE((same<F>("fma", Soft<F>::fma(a, b, c), expected, {a, b, c})));
    if (i % 16 != 0) continue;
    check_one<F>(a);
    check_pair<F>(a, b);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void check_conversions(std::uint64_t count, std::uint64_t seed) {
  Draw draw(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto a = draw_number<Binary32>(draw, 0x3f800000);
    ASSERT_TRUE((same<Binary64>("widen", widen(a), number<Binary32>(a), {a})));
    std::uint64_t b = draw_number<Binary64>(draw, widen(a));
    if (i % 3 == 0) b = widen(a) + (draw.word() % 5) * 0x08000000;  // around ties
    const auto narrowed = static_cast<float>(number<Binary64>(b));
    ASSERT_EQ(narrow(b), bits_of<Binary32>(narrowed)) << std::hex << b;
    const auto whole = static_cast<std::int64_t>(draw.word()) >> (i % 64);
    ASSERT_EQ(Soft32::of_integer(whole), bits_of<Binary32>(static_cast<float>(whole))) << whole;
    ASSERT_EQ(Soft64::of_integer(whole), bits_of<Binary64>(static_cast<double>(whole))) << whole;
  }
}

TEST(Soft, SpecialCasesOfBinary32) { cross_special_cases<Binary32>(); }
TEST(Soft, SpecialCasesOfBinary64) { cross_special_cases<Binary64>(); }
TEST(Soft, RandomBinary32) { check_random<Binary32>(1'000'000, 1); }
TEST(Soft, RandomBinary64) { check_random<Binary64>(1'000'000, 2); }
TEST(Soft, Conversions) {
  check_conversions(300'000, 3);
  for (const std::int64_t whole : {INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_C(0), INT64_C(1)}) {
    EXPECT_EQ(Soft32::of_integer(whole), bits_of<Binary32>(static_cast<float>(whole)));
    EXPECT_EQ(Soft64::of_integer(whole), bits_of<Binary64>(static_cast<double>(whole)));
  }
}

TEST(Soft, IntegersOfNumbersSaturate) {
  Draw draw(4);
  for (int i = 0; i < 200'000; ++i) {
    const auto a = draw_number<Binary32>(draw, 0x4b000000);
    const float x = number<Binary32>(a);
    const std::int64_t expected = x != x         ? 0
                                  : x >= 0x1p63f ? INT64_MAX
                                  : x < -0x1p63f ? INT64_MIN
                                                 : static_cast<std::int64_t>(x);
    ASSERT_EQ(Soft32::to_integer(a, 63), expected) << std::hex << a;
    const std::int64_t narrow =
        std::min<std::int64_t>(std::max<std::int64_t>(expected, INT32_MIN), INT32_MAX);
    ASSERT_EQ(Soft32::to_integer(a, 31), narrow) << std::hex << a;
  }
}

TEST(Soft, ExtremesKnowNanAndSignedZero) {
  constexpr std::uint32_t kMinusZero = 0x80000000;
  EXPECT_EQ(Soft32::maximum(kMinusZero, 0), 0u);
  EXPECT_EQ(Soft32::maximum(0, kMinusZero), 0u);
  EXPECT_EQ(Soft32::minimum(0, kMinusZero), kMinusZero);
  EXPECT_EQ(Soft32::maximum(0xc0000000, 0xbf800000), 0xbf800000);
  EXPECT_EQ(Soft32::maximum(0xffc12345, 0x3f800000), Binary32::kNan);
  EXPECT_EQ(Soft64::minimum(1, Binary64::kNan + 7), Binary64::kNan);
}

TEST(Table, RowsAreComplete) {
  for (const Operation& row : operation_table()) {
    EXPECT_NE(row.of, nullptr) << row.name;
    EXPECT_GE(row.operands, 1) << row.name;
    EXPECT_LE(row.operands, kOperandsMax) << row.name;
    EXPECT_EQ(operation(row.op).name, row.name);
  }
  const std::uint64_t wrapping[] = {0x8000000000000000, 2, 5};
  EXPECT_EQ(evaluate(Op::kMulAddInteger, wrapping), 5u);
  const std::uint64_t chosen[] = {0, 1, 2};
  EXPECT_EQ(evaluate(Op::kSelect, chosen), 2u);
}

/// ctest -L exhaustive: 10^9 fused multiply-adds of each format. Reports its rate.
template <class F>
void run_exhaustive(std::uint64_t seed) {
  constexpr std::uint64_t kCount = 1'000'000'000;
  const core::SystemClock clock;
  const std::int64_t begin = clock.monotonic_ns();
  check_random<F>(kCount, seed);
  const double seconds = static_cast<double>(clock.monotonic_ns() - begin) * 1e-9;
  std::printf("%.3g fused multiply-adds against the hardware, %.3g a second\n",
              static_cast<double>(kCount), static_cast<double>(kCount) / seconds);
}
TEST(ExhaustiveSoft, RandomBinary32) { run_exhaustive<Binary32>(11); }
TEST(ExhaustiveSoft, RandomBinary64) { run_exhaustive<Binary64>(12); }

}  // namespace
}  // namespace commensal::scalar
