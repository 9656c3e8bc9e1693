// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// What a dispute may end in: one named operation of the numeric specification on a few numbers.
namespace commensal::scalar {

/// A number's format. A word holds its bits, the rest being 0; what is above is not looked at.
enum class Type : std::uint8_t {
  kBinary32,
  kBinary64,
  kInteger,  // two's complement of 64 bits, wrapping; signed where it matters
  kTruth,    // 0 or 1
  kBits,     // any bits, only moved
};

enum class Op : std::uint8_t {
  kCopy,  // the same bits: what operators that move elements do
  kFma32,
  kAdd32,
  kSub32,
  kMul32,
  kDiv32,
  kSqrt32,
  kMaximum32,
  kMinimum32,
  kFloor32,
  kCeil32,
  kRound32,
  kCanonical32,
  kLess32,
  kEqual32,
  kSelect,  // the second if the first is not 0, else the third
  kExp32,
  kLog32,
  kTanh32,
  kSigmoid32,
  kErf32,
  kSoftplus32,
  kPow32,
  kFma64,
  kAdd64,
  kSub64,
  kMul64,
  kDiv64,
  kSqrt64,
  kMaximum64,
  kMinimum64,
  kWiden,          // binary32 to binary64
  kNarrow,         // binary64 to binary32
  kMulAddInteger,  // integers: in 64 bits, wrapping
  kAddInteger,
  kSubInteger,
  kMulInteger,
  kDivInteger,  // towards zero; by 0: 0
  kMaximumInteger,
  kMinimumInteger,
  kLessInteger,
  kEqualInteger,
  kFloatOfInteger,   // to binary32
  kDoubleOfInteger,  // to binary64
  kIntegerOfFloat,   // of binary32: towards zero, saturating, NaN is 0
  kIntegerOfDouble,  // of binary64, likewise
  kWidenInteger8,    // to 64 bits, signed
  kWidenInteger16,
  kWidenInteger32,
  kLow8,  // what is stored of an integer
  kLow16,
  kLow32,
  kWidenHalf,  // float16 to binary32, and rounded back
  kNarrowHalf,
  kWidenBfloat,
  kNarrowBfloat,
  kCanonical64,
  kLess64,
  kEqual64,
  kAbove32,    // the order of extremes, NaN before all: the first is the larger
  kBeneath32,  // the smaller
  kAbove64,
  kBeneath64,
  kWrapIndex,      // an index, from the end where negative, kept within 0 to the second - 1
  kTopKey32,       // binary32 and position: larger where it is the larger, then the earlier
  kBottomKey32,    // where it is the smaller
  kTopKeyInteger,  // of an integer of at most 32 bits
  kBottomKeyInteger,
  kPositionOfKey,
  kSin32,
  kCos32,
  kTan32,
  kAsin32,
  kAcos32,
  kAtan32,
  kSinh32,
  kCosh32,
  kAsinh32,
  kAcosh32,
  kAtanh32,
};

inline constexpr int kOperandsMax = 3;

struct Operation {
  Op op = Op::kCopy;
  std::string_view name;
  int operands = 1;  // at most kOperandsMax
  Type from = Type::kBits, to = Type::kBits;
  std::uint64_t (*of)(const std::uint64_t* operands) = nullptr;
};

/// All of them, in the order of Op.
std::span<const Operation> operation_table();
const Operation& operation(Op op);
/// Precondition: as many operands as the operation has.
std::uint64_t evaluate(Op op, std::span<const std::uint64_t> operands);

}  // namespace commensal::scalar
