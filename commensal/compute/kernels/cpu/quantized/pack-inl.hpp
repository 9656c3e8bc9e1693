// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: codes into words.
#if defined(COMMENSAL_CPU_CODES_PACK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_CODES_PACK_INL
#undef COMMENSAL_CPU_CODES_PACK_INL
#else
#define COMMENSAL_CPU_CODES_PACK_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/quantized/dot-inl.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

// 16 bytes at a time on every machine: a few instructions for as many codes as a tile multiplies
// hundreds of times.
inline constexpr hn::FixedTag<std::uint8_t, 16> kSixteen;
using Sixteen = hn::Vec<hn::FixedTag<std::uint8_t, 16>>;
inline constexpr std::int64_t kSixteenCodes = 16;

/// Four words of int8 codes as the left matrix has them.
HWY_INLINE void store_left(Sixteen codes, float* to) {
  const hn::Repartition<float, decltype(kSixteen)> words;
  if constexpr (kLeftParts == 1) {
    hn::StoreU(hn::BitCast(words, codes), words, to);
  } else {
    const hn::Repartition<std::int16_t, decltype(kSixteen)> shorts;
    const auto both = hn::BitCast(shorts, codes);
    const auto odd = hn::BitCast(words, hn::ShiftRight<8>(both));
    const auto even = hn::BitCast(words, hn::ShiftRight<8>(hn::ShiftLeft<8>(both)));
    hn::StoreU(hn::InterleaveLower(words, even, odd), words, to);
    hn::StoreU(hn::InterleaveUpper(words, even, odd), words, to + 4);
  }
}

inline std::int32_t left_row(const CodeRow& row) {
  const hn::Repartition<std::uint64_t, decltype(kSixteen)> wide;
  const auto flip = hn::Set(kSixteen, row.flip), up = hn::Set(kSixteen, kFlip);
  auto sums = hn::Zero(wide);
  float* to = row.to;
  std::int64_t at = 0;
  for (; at + kSixteenCodes <= row.count; at += kSixteenCodes, to += 4 * kLeftParts) {
    const auto codes = hn::Xor(hn::LoadU(kSixteen, row.from + at), flip);
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(codes, up)));  // 128 more, each
    store_left(codes, to);
  }
  if (const std::int64_t rest = row.count - at; rest > 0) {
    std::uint8_t bytes[kSixteenCodes];
    std::fill_n(bytes, kSixteenCodes, row.flip);  // whose code is 0
    std::memcpy(bytes, row.from + at, static_cast<std::size_t>(rest));
    const auto codes = hn::Xor(hn::LoadU(kSixteen, bytes), flip);
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(codes, up)));
    float words[4 * kLeftParts];
    store_left(codes, words);
    std::copy_n(words, words_of(rest) * kLeftParts, to);
    at += kSixteenCodes;
  }
  const std::uint64_t sum = hn::GetLane(hn::SumOfLanes(wide, sums));
  return static_cast<std::int32_t>(sum - static_cast<std::uint64_t>(at) * kFlip);
}

/// Column j of rows [row, row + 4), those beyond the last being 0.
inline void right_word(const CodeRows& rows, std::int64_t row, std::int64_t j, float* to) {
  std::uint8_t bytes[kCodesInWord] = {};
  for (std::int64_t r = row; r < std::min(row + kCodesInWord, rows.rows); ++r) {
    bytes[r - row] = rows.from[r * rows.row_step + j] ^ rows.flip;
  }
  std::memcpy(to + j, bytes, sizeof(bytes));
}

HWY_INLINE void sixteen_right_words(const CodeRows& rows, std::int64_t row, std::int64_t j,
                                    float* to) {
  const auto flip = hn::Set(kSixteen, rows.flip);
  Sixteen four[kCodesInWord];
  COMMENSAL_UNROLL
  for (int r = 0; r < kCodesInWord; ++r) {
    four[r] = row + r < rows.rows
                  ? hn::Xor(hn::LoadU(kSixteen, rows.from + (row + r) * rows.row_step + j), flip)
                  : hn::Zero(kSixteen);
  }
  hn::StoreInterleaved4(four[0], four[1], four[2], four[3], kSixteen,
                        reinterpret_cast<std::uint8_t*>(to + j));
}

inline void right_rows(const CodeRows& rows) {
  float* to = rows.to;
  for (std::int64_t row = 0; row < rows.rows; row += kCodesInWord, to += rows.to_step) {
    std::int64_t j = 0;
    for (; j + kSixteenCodes <= rows.columns; j += kSixteenCodes) {
      sixteen_right_words(rows, row, j, to);
    }
    if (j < rows.columns && rows.columns >= kSixteenCodes) {  // some of them again
      sixteen_right_words(rows, row, rows.columns - kSixteenCodes, to);
      continue;
    }
    for (; j < rows.columns; ++j) right_word(rows, row, j, to);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
