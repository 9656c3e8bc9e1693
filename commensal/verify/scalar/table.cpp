// SPDX-License-Identifier: Apache-2.0
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
Word less32(Words x) { return Soft32::less(low(x[0]), low(x[1])) ? 1 : 0; }
Word equal32(Words x) { return Soft32::equal(low(x[0]), low(x[1])) ? 1 : 0; }
Word widened(Words x) { return widen(low(x[0])); }
Word narrowed(Words x) { return narrow(x[0]); }
Word add_word(Words x) { return x[0] + x[1]; }
Word sub_word(Words x) { return x[0] - x[1]; }
Word mul_word(Words x) { return x[0] * x[1]; }
Word mul_add_word(Words x) { return x[0] * x[1] + x[2]; }
Word float_of_integer(Words x) { return Soft32::of_integer(static_cast<std::int64_t>(x[0])); }

Word integer64_of_float(Words x) { return static_cast<Word>(Soft32::to_integer(low(x[0]), 63)); }
Word integer32_of_float(Words x) {
  return low(static_cast<Word>(Soft32::to_integer(low(x[0]), 31)));
}
Word widen_integer(Words x) {
  return static_cast<Word>(std::int64_t{static_cast<std::int32_t>(low(x[0]))});
}

/// Wrapping arithmetic of the low half is the low half of that of the whole.
template <Word (*kOf)(Words)>
Word half(Words x) {
  return low(kOf(x));
}

using Towards = Soft32::Towards;
constexpr Type kF = Type::kBinary32, kD = Type::kBinary64, kI = Type::kInteger32,
               kL = Type::kInteger64, kT = Type::kTruth, kB = Type::kBits;

constexpr Operation kTable[] = {
    {Op::kCopy, "copy", 1, kB, kB, copy},
    {Op::kFma32, "fma32", 3, kF, kF, fma32},
    {Op::kAdd32, "add32", 2, kF, kF, two32<Soft32::add>},
    {Op::kSub32, "sub32", 2, kF, kF, two32<Soft32::sub>},
    {Op::kMul32, "mul32", 2, kF, kF, two32<Soft32::mul>},
    {Op::kDiv32, "div32", 2, kF, kF, two32<Soft32::div>},
    {Op::kSqrt32, "sqrt32", 1, kF, kF, one32<Soft32::sqrt>},
    {Op::kNeg32, "neg32", 1, kF, kF, one32<Soft32::neg>},
    {Op::kAbs32, "abs32", 1, kF, kF, one32<Soft32::abs>},
    {Op::kMaximum32, "maximum32", 2, kF, kF, two32<Soft32::maximum>},
    {Op::kMinimum32, "minimum32", 2, kF, kF, two32<Soft32::minimum>},
    {Op::kFloor32, "floor32", 1, kF, kF, round32<Towards::kDown>},
    {Op::kCeil32, "ceil32", 1, kF, kF, round32<Towards::kUp>},
    {Op::kRound32, "round32", 1, kF, kF, round32<Towards::kNearestEven>},
    {Op::kCanonical32, "canonical32", 1, kF, kF, one32<Soft32::canonical>},
    {Op::kLess32, "less32", 2, kF, kT, less32},
    {Op::kEqual32, "equal32", 2, kF, kT, equal32},
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
    {Op::kMulAddInteger32, "mul_add_i32", 3, kI, kI, half<mul_add_word>},
    {Op::kAddInteger32, "add_i32", 2, kI, kI, half<add_word>},
    {Op::kSubInteger32, "sub_i32", 2, kI, kI, half<sub_word>},
    {Op::kMulInteger32, "mul_i32", 2, kI, kI, half<mul_word>},
    {Op::kMulAddInteger64, "mul_add_i64", 3, kL, kL, mul_add_word},
    {Op::kAddInteger64, "add_i64", 2, kL, kL, add_word},
    {Op::kSubInteger64, "sub_i64", 2, kL, kL, sub_word},
    {Op::kMulInteger64, "mul_i64", 2, kL, kL, mul_word},
    {Op::kFloatOfInteger64, "float_of_i64", 1, kL, kF, float_of_integer},
    {Op::kInteger64OfFloat, "i64_of_float", 1, kF, kL, integer64_of_float},
    {Op::kInteger32OfFloat, "i32_of_float", 1, kF, kI, integer32_of_float},
    {Op::kWidenInteger32, "widen_i32", 1, kI, kL, widen_integer},
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
