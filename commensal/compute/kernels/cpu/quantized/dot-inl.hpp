// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: a word of int8 codes times a word of uint8 codes.
//
// With VNNI that is one instruction for sixteen lanes. Without, a word is taken as its even and its
// odd codes in 16 bits each: products of 8-bit codes are exact there, pairs are added in 32 bits.
// (Multiplying bytes at once, maddubs, would saturate.) The left matrix is stored so.
#if defined(COMMENSAL_CPU_CODES_DOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_CODES_DOT_INL
#undef COMMENSAL_CPU_CODES_DOT_INL
#else
#define COMMENSAL_CPU_CODES_DOT_INL
#endif

#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr hn::RebindToSigned<Floats> kInts;
inline constexpr hn::Repartition<std::int16_t, Floats> kShorts;
inline constexpr hn::Repartition<std::uint16_t, Floats> kUnsignedShorts;
using Ints = hn::Vec<hn::RebindToSigned<Floats>>;
using Shorts = hn::Vec<hn::Repartition<std::int16_t, Floats>>;

inline constexpr int kCodeVectors = 3;
inline constexpr int kCodeColumns = kCodeVectors * kLanes;

/// The word at `from` in all lanes.
HWY_INLINE Ints same_word(const float* from) {
  std::int32_t word;
  std::memcpy(&word, from, sizeof(word));
  return hn::Set(kInts, word);
}
HWY_INLINE Ints words_at(const float* from) { return hn::BitCast(kInts, hn::LoadU(kFloats, from)); }

#if HWY_TARGET == HWY_AVX3_DL

inline constexpr int kLeftParts = 1;
struct RightWords {
  Ints words;
};
HWY_INLINE RightWords right_words(const float* from) { return {words_at(from)}; }
struct LeftWord {
  Ints word;
};
HWY_INLINE LeftWord left_word(const float* from, std::int64_t) { return {same_word(from)}; }
/// In assembly: Highway asks the compiler for all of Ice Lake but the name of this instruction.
HWY_INLINE Ints dot(Ints acc, const LeftWord& left, const RightWords& right) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc.raw) : "v"(right.words.raw), "v"(left.word.raw));
  return acc;
}

#else

inline constexpr int kLeftParts = 2;
struct RightWords {
  Shorts even, odd;
};
HWY_INLINE RightWords right_words(const float* from) {
  const auto both = hn::BitCast(kUnsignedShorts, hn::LoadU(kFloats, from));
  const auto even = hn::And(both, hn::Set(kUnsignedShorts, std::uint16_t{0xff}));
  return {hn::BitCast(kShorts, even), hn::BitCast(kShorts, hn::ShiftRight<8>(both))};
}
struct LeftWord {
  Shorts even, odd;
};
HWY_INLINE LeftWord left_word(const float* from, std::int64_t step) {
  return {hn::BitCast(kShorts, same_word(from)), hn::BitCast(kShorts, same_word(from + step))};
}
/// Lane i gets a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1] more; every product fits 16 bits.
HWY_INLINE Ints add_pairs(Ints acc, Shorts a, Shorts b) {
#if HWY_ARCH_ARM
  return Ints(vpadalq_s16(acc.raw, vmulq_s16(a.raw, b.raw)));
#else
  Ints none = hn::Zero(kInts);
  return hn::ReorderWidenMulAccumulate(kInts, a, b, acc, none);  // on x86 in order
#endif
}
HWY_INLINE Ints dot(Ints acc, const LeftWord& left, const RightWords& right) {
  return add_pairs(add_pairs(acc, left.even, right.even), left.odd, right.odd);
}

#endif

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
