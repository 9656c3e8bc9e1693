// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// What the columns of the operator table are made of (operator.hpp has the row).
namespace commensal::kernels {

/// How an operator's outputs depend on its inputs; the optimiser and spot checks go by it.
enum class Kind : std::uint8_t {
  kElementwise,  // element i of broadcast inputs
  kMovement,     // copies elements, changes no bits
  kDotProduct,   // fused multiply-add chains
  kReduction,    // any other fold over several elements
  kConstant,     // no inputs
  kStructure,    // has `values` only
};

/// How an operator takes tensors of strings.
enum class Strings : std::uint8_t {
  kRefused,
  kCodes,  // it runs on int64 codes in their place: string_codes.hpp
  kOwn,    // its kernel reads and makes them; such an output is left for it to assign
};

/// Some of the inputs, or of the outputs: bit i for number i, the last one for all behind it too.
struct Places {
  std::uint32_t bits = 0;
  static constexpr std::uint32_t bit(std::size_t i) {
    return std::uint32_t{1} << (i < 31 ? i : 31);
  }
  constexpr bool has(std::size_t i) const { return (bits & bit(i)) != 0; }
};

/// What the large part of an operator's packed constants is made of, where it is not of all of them
/// and of all attributes (operator.hpp, Packed::another).
struct Packs {
  Places inputs;
  std::span<const std::string_view> attributes;
};

/// What graph/ may take an operator for, where it looks for a pattern or treats a node in a way of
/// its own. All versions of an operator have one role, no two operators share one but kNone.
enum class Role : std::uint8_t {
  kNone,
  kAdd,
  kAveragePool,
  kBatchNormalization,
  kClip,
  kConcat,
  kConstant,
  kConv,
  kDiv,
  kDropout,
  kErf,
  kFlatten,
  kGather,
  kGemm,
  kGlobalAveragePool,
  kHardSigmoid,
  kHardSwish,
  kIdentity,
  kIf,
  kLeakyRelu,
  kLoop,
  kMatMul,
  kMaxPool,
  kMul,
  kPad,
  kPow,
  kReduceMean,
  kRelu,
  kReshape,
  kScan,
  kShape,
  kSigmoid,
  kSize,
  kSlice,
  kSoftmax,
  kSplit,
  kSqrt,
  kSqueeze,
  kSub,
  kTanh,
  kTranspose,
  kUnsqueeze,
  // Operators of optimised graphs (table_internal.hpp).
  kBlockedAveragePool,
  kBlockedBinary,
  kBlockedChannels,
  kBlockedConv,
  kBlockedExpand,
  kBlockedGlobalAveragePool,
  kBlockedMaxPool,
  kBlockedNormalise,
  kBlockedToLast,
  kByImage,
  kFromBlocked,
  kFusedAttention,
  kGeluSteps,
  kLastToBlocked,
  kLayerNormSteps,
  kRowsMatMul,
  kToBlocked,
};

/// The kernel in cuda/, which sees the table and not the other way round.
enum class Cuda : std::uint8_t {
  kNone,
  kAcos,
  kAcosh,
  kAdd,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kConv,
  kCos,
  kCosh,
  kDiv,
  kErf,
  kExp,
  kGemm,
  kInstanceNorm,
  kLayerNorm,
  kLeakyRelu,
  kLog,
  kMatMul,
  kMax,
  kMin,
  kMul,
  kPow,
  kRelu,
  kSigmoid,
  kSin,
  kSinh,
  kSoftmax,
  kSoftplus,
  kSqrt,
  kSub,
  kTan,
  kTanh,
};

/// Where an operator computes with shapes: what becomes of elements that are the number of rows of
/// a batch.
enum class RowCounts : std::uint8_t {
  kLost,      // nobody knows
  kFirst,     // those of the first input move to the output
  kEvery,     // those of any input do
  kComputed,  // the outputs' elements depend on them, their type does not
};

}  // namespace commensal::kernels
