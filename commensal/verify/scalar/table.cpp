// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/scalar/functions.hpp>
#include <commensal/verify/scalar/soft.hpp>
#include <commensal/verify/scalar/table.hpp>

namespace commensal::scalar {
namespace {

using Word = std::uint64_t;
using Words = const Word*;

std::uint32_t low(Word word) { return static_cast<std::uint32_t>(word); }

template <std::uint32_t (*kOf)(std::uint32_t)>
Word one32(Words x) {
  return kOf(low(x[0]));
}
template <std::uint32_t (*kOf)(std::uint32_t, std::uint32_t)>
Word two32(Words x) {
  return kOf(low(x[0]), low(x[1]));
}
template <Word (*kOf)(Word, Word)>
Word two64(Words x) {
  return kOf(x[0], x[1]);
}
template <Soft32::Towards kTowards>
Word round32(Words x) {
  return Soft32::round(low(x[0]), kTowards);
}

Word copy(Words x) { return x[0]; }
Word select(Words x) { return x[0] != 0 ? x[1] : x[2]; }
Word fma32(Words x) { return Soft32::fma(low(x[0]), low(x[1]), low(x[2])); }
Word fma64(Words x) { return Soft64::fma(x[0], x[1], x[2]); }
Word sqrt64(Words x) { return Soft64::sqrt(x[0]); }
template <bool (*kOf)(std::uint32_t, std::uint32_t)>
Word truth32(Words x) {
  return kOf(low(x[0]), low(x[1])) ? 1 : 0;
}
template <bool (*kOf)(Word, Word)>
Word truth64(Words x) {
  return kOf(x[0], x[1]) ? 1 : 0;
}
Word widened(Words x) { return widen(low(x[0])); }
Word narrowed(Words x) { return narrow(x[0]); }
Word canonical64(Words x) { return Soft64::canonical(x[0]); }
template <std::uint32_t (*kOf)(std::uint32_t)>
Word one16(Words x) {
  return kOf(low(x[0]) & 0xffff);
}

std::int64_t whole(Word word) { return static_cast<std::int64_t>(word); }
Word add_word(Words x) { return x[0] + x[1]; }
Word sub_word(Words x) { return x[0] - x[1]; }
Word mul_word(Words x) { return x[0] * x[1]; }
Word mul_add_word(Words x) { return x[0] * x[1] + x[2]; }
Word div_integer(Words x) {
  if (x[1] == 0) return 0;
  if (whole(x[1]) == -1) return Word{0} - x[0];
  return static_cast<Word>(whole(x[0]) / whole(x[1]));
}
Word maximum_integer(Words x) { return whole(x[0]) < whole(x[1]) ? x[1] : x[0]; }
Word minimum_integer(Words x) { return whole(x[1]) < whole(x[0]) ? x[1] : x[0]; }
Word less_integer(Words x) { return whole(x[0]) < whole(x[1]) ? 1 : 0; }
Word equal_word(Words x) { return x[0] == x[1] ? 1 : 0; }
Word float_of_integer(Words x) { return Soft32::of_integer(whole(x[0])); }
Word double_of_integer(Words x) { return Soft64::of_integer(whole(x[0])); }
Word integer_of_float(Words x) { return static_cast<Word>(Soft32::to_integer(low(x[0]), 63)); }
Word integer_of_double(Words x) { return static_cast<Word>(Soft64::to_integer(x[0], 63)); }
template <class T>
Word widen_integer(Words x) {
  return static_cast<Word>(std::int64_t{static_cast<T>(x[0])});
}
template <class T>
Word low_bits(Words x) {
  return static_cast<T>(x[0]);
}
Word wrap_index(Words x) {
  const std::int64_t length = whole(x[1]), from_end = whole(x[0]) < 0 ? whole(x[0] + x[1]) : 0;
  const std::int64_t index = whole(x[0]) < 0 ? from_end : whole(x[0]);
  return static_cast<Word>(
      std::clamp<std::int64_t>(index, 0, std::max<std::int64_t>(length, 1) - 1));
}

// What comes first has the largest key: its rank, signed, above the position counted backwards from
// a number that leaves the largest word of all to no key.
constexpr Word kOfPosition = 0xffff'ffff, kFirstPlace = kOfPosition - 1;
Word key_of(std::int64_t rank, Word position) {
  return static_cast<Word>(rank) << 32 | ((kFirstPlace - position) & kOfPosition);
}
template <bool kSmallest>
Word key32(Words x) {
  if (Soft32::is_nan(low(x[0]))) return key_of(INT32_MAX, x[1]);
  const std::int64_t magnitude = Soft32::abs(low(x[0]));
  const std::int64_t rank = Soft32::is_negative(low(x[0])) ? -magnitude - 1 : magnitude;
  return key_of(kSmallest ? -rank - 1 : rank, x[1]);
}
template <bool kSmallest>
Word key_integer(Words x) {
  return key_of(kSmallest ? -whole(x[0]) - 1 : whole(x[0]), x[1]);
}
Word position_of_key(Words x) { return (kFirstPlace - x[0]) & kOfPosition; }

using Towards = Soft32::Towards;
constexpr Type kF = Type::kBinary32, kD = Type::kBinary64, kI = Type::kInteger, kT = Type::kTruth,
               kB = Type::kBits;

constexpr Operation kTable[] = {
    {Op::kCopy, "copy", 1, kB, kB, copy},
    {Op::kFma32, "fma32", 3, kF, kF, fma32},
    {Op::kAdd32, "add32", 2, kF, kF, two32<Soft32::add>},
    {Op::kSub32, "sub32", 2, kF, kF, two32<Soft32::sub>},
    {Op::kMul32, "mul32", 2, kF, kF, two32<Soft32::mul>},
    {Op::kDiv32, "div32", 2, kF, kF, two32<Soft32::div>},
    {Op::kSqrt32, "sqrt32", 1, kF, kF, one32<Soft32::sqrt>},
    {Op::kMaximum32, "maximum32", 2, kF, kF, two32<Soft32::maximum>},
    {Op::kMinimum32, "minimum32", 2, kF, kF, two32<Soft32::minimum>},
    {Op::kFloor32, "floor32", 1, kF, kF, round32<Towards::kDown>},
    {Op::kCeil32, "ceil32", 1, kF, kF, round32<Towards::kUp>},
    {Op::kRound32, "round32", 1, kF, kF, round32<Towards::kNearestEven>},
    {Op::kCanonical32, "canonical32", 1, kF, kF, one32<Soft32::canonical>},
    {Op::kLess32, "less32", 2, kF, kT, truth32<Soft32::less>},
    {Op::kEqual32, "equal32", 2, kF, kT, truth32<Soft32::equal>},
    {Op::kSelect, "select", 3, kB, kB, select},
    {Op::kExp32, "exp32", 1, kF, kF, one32<exp>},
    {Op::kLog32, "log32", 1, kF, kF, one32<log>},
    {Op::kTanh32, "tanh32", 1, kF, kF, one32<tanh>},
    {Op::kSigmoid32, "sigmoid32", 1, kF, kF, one32<sigmoid>},
    {Op::kErf32, "erf32", 1, kF, kF, one32<erf>},
    {Op::kSoftplus32, "softplus32", 1, kF, kF, one32<softplus>},
    {Op::kPow32, "pow32", 2, kF, kF, two32<pow>},
    {Op::kFma64, "fma64", 3, kD, kD, fma64},
    {Op::kAdd64, "add64", 2, kD, kD, two64<Soft64::add>},
    {Op::kSub64, "sub64", 2, kD, kD, two64<Soft64::sub>},
    {Op::kMul64, "mul64", 2, kD, kD, two64<Soft64::mul>},
    {Op::kDiv64, "div64", 2, kD, kD, two64<Soft64::div>},
    {Op::kSqrt64, "sqrt64", 1, kD, kD, sqrt64},
    {Op::kMaximum64, "maximum64", 2, kD, kD, two64<Soft64::maximum>},
    {Op::kMinimum64, "minimum64", 2, kD, kD, two64<Soft64::minimum>},
    {Op::kWiden, "widen", 1, kF, kD, widened},
    {Op::kNarrow, "narrow", 1, kD, kF, narrowed},
    {Op::kMulAddInteger, "mul_add_i64", 3, kI, kI, mul_add_word},
    {Op::kAddInteger, "add_i64", 2, kI, kI, add_word},
    {Op::kSubInteger, "sub_i64", 2, kI, kI, sub_word},
    {Op::kMulInteger, "mul_i64", 2, kI, kI, mul_word},
    {Op::kDivInteger, "div_i64", 2, kI, kI, div_integer},
    {Op::kMaximumInteger, "maximum_i64", 2, kI, kI, maximum_integer},
    {Op::kMinimumInteger, "minimum_i64", 2, kI, kI, minimum_integer},
    {Op::kLessInteger, "less_i64", 2, kI, kT, less_integer},
    {Op::kEqualInteger, "equal_i64", 2, kI, kT, equal_word},
    {Op::kFloatOfInteger, "float_of_i64", 1, kI, kF, float_of_integer},
    {Op::kDoubleOfInteger, "double_of_i64", 1, kI, kD, double_of_integer},
    {Op::kIntegerOfFloat, "i64_of_float", 1, kF, kI, integer_of_float},
    {Op::kIntegerOfDouble, "i64_of_double", 1, kD, kI, integer_of_double},
    {Op::kWidenInteger8, "widen_i8", 1, kI, kI, widen_integer<std::int8_t>},
    {Op::kWidenInteger16, "widen_i16", 1, kI, kI, widen_integer<std::int16_t>},
    {Op::kWidenInteger32, "widen_i32", 1, kI, kI, widen_integer<std::int32_t>},
    {Op::kLow8, "low8", 1, kI, kI, low_bits<std::uint8_t>},
    {Op::kLow16, "low16", 1, kI, kI, low_bits<std::uint16_t>},
    {Op::kLow32, "low32", 1, kI, kI, low_bits<std::uint32_t>},
    {Op::kWidenHalf, "widen_f16", 1, kB, kF, one16<widen16<Binary16>>},
    {Op::kNarrowHalf, "narrow_f16", 1, kF, kB, one32<narrow16<Binary16>>},
    {Op::kWidenBfloat, "widen_bf16", 1, kB, kF, one16<widen16<Bfloat16>>},
    {Op::kNarrowBfloat, "narrow_bf16", 1, kF, kB, one32<narrow16<Bfloat16>>},
    {Op::kCanonical64, "canonical64", 1, kD, kD, canonical64},
    {Op::kLess64, "less64", 2, kD, kT, truth64<Soft64::less>},
    {Op::kEqual64, "equal64", 2, kD, kT, truth64<Soft64::equal>},
    {Op::kAbove32, "above32", 2, kF, kT, truth32<Soft32::above>},
    {Op::kBeneath32, "beneath32", 2, kF, kT, truth32<Soft32::beneath>},
    {Op::kAbove64, "above64", 2, kD, kT, truth64<Soft64::above>},
    {Op::kBeneath64, "beneath64", 2, kD, kT, truth64<Soft64::beneath>},
    {Op::kWrapIndex, "wrap_index", 2, kI, kI, wrap_index},
    {Op::kTopKey32, "top_key32", 2, kF, kI, key32<false>},
    {Op::kBottomKey32, "bottom_key32", 2, kF, kI, key32<true>},
    {Op::kTopKeyInteger, "top_key_i64", 2, kI, kI, key_integer<false>},
    {Op::kBottomKeyInteger, "bottom_key_i64", 2, kI, kI, key_integer<true>},
    {Op::kPositionOfKey, "position_of_key", 1, kI, kI, position_of_key},
    {Op::kSin32, "sin32", 1, kF, kF, one32<sin>},
    {Op::kCos32, "cos32", 1, kF, kF, one32<cos>},
    {Op::kTan32, "tan32", 1, kF, kF, one32<tan>},
    {Op::kAsin32, "asin32", 1, kF, kF, one32<asin>},
    {Op::kAcos32, "acos32", 1, kF, kF, one32<acos>},
    {Op::kAtan32, "atan32", 1, kF, kF, one32<atan>},
    {Op::kSinh32, "sinh32", 1, kF, kF, one32<sinh>},
    {Op::kCosh32, "cosh32", 1, kF, kF, one32<cosh>},
    {Op::kAsinh32, "asinh32", 1, kF, kF, one32<asinh>},
    {Op::kAcosh32, "acosh32", 1, kF, kF, one32<acosh>},
    {Op::kAtanh32, "atanh32", 1, kF, kF, one32<atanh>},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    if (static_cast<std::size_t>(kTable[i].op) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "row i of the table is operation i");

}  // namespace

std::span<const Operation> operation_table() { return kTable; }

const Operation& operation(Op op) {
  core::check(static_cast<std::size_t>(op) < std::size(kTable), "an operation has a row");
  return kTable[static_cast<std::size_t>(op)];
}

std::uint64_t evaluate(Op op, std::span<const std::uint64_t> operands) {
  const Operation& row = operation(op);
  core::check(operands.size() == static_cast<std::size_t>(row.operands),
              "an operation gets as many operands as it takes");
  return row.of(operands.data());
}

}  // namespace commensal::scalar
