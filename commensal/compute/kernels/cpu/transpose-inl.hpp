// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: matrices of 4-byte elements, transposed.
#if defined(COMMENSAL_CPU_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_TRANSPOSE_INL
#undef COMMENSAL_CPU_TRANSPOSE_INL
#else
#define COMMENSAL_CPU_TRANSPOSE_INL
#endif

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// kLanes (4, 8 or 16) elements: block b of 4 is read at from + 4 * b * step.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::int64_t step) {
  if constexpr (hn::MaxLanes(d) == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto kHalf = static_cast<std::int64_t>(hn::MaxLanes(half));
    return hn::Combine(d, load_blocks(half, from + kHalf * step, step),
                       load_blocks(half, from, step));
  }
}

/// As many rows as D has lanes, 4 columns of each: every vector holds one column of four rows in
/// each of its blocks, which two rounds of interleaving put in order.
template <class D>
HWY_INLINE void transpose_4_columns(D d, const float* from, std::int64_t from_step, float* to,
                                    std::int64_t to_step) {
  const auto a = load_blocks(d, from, from_step);
  const auto b = load_blocks(d, from + from_step, from_step);
  const auto c = load_blocks(d, from + 2 * from_step, from_step);
  const auto e = load_blocks(d, from + 3 * from_step, from_step);
  const auto ac_low = hn::InterleaveLower(d, a, c), be_low = hn::InterleaveLower(d, b, e);
  const auto ac_high = hn::InterleaveUpper(d, a, c), be_high = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, ac_low, be_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, ac_low, be_low), d, to + to_step);
  hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, to + 2 * to_step);
  hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, to + 3 * to_step);
}

template <class D>
HWY_INLINE void transpose_rows(D d, const WordMatrix& m, std::int64_t row) {
  constexpr auto kRows = static_cast<std::int64_t>(hn::MaxLanes(d));
  const float* from = m.from + row * m.from_step;
  float* to = m.to + row;
  std::int64_t column = 0;
  for (; column + 4 <= m.columns; column += 4) {
    transpose_4_columns(d, from + column, m.from_step, to + column * m.to_step, m.to_step);
  }
  for (; column < m.columns; ++column) {
    for (std::int64_t r = 0; r < kRows; ++r) {
      to[column * m.to_step + r] = from[r * m.from_step + column];
    }
  }
}

inline void transpose_words(const WordMatrix& m) {
  constexpr hn::FixedTag<float, 4> kFour;
  std::int64_t row = 0;
  for (; row + kLanes <= m.rows; row += kLanes) transpose_rows(kFloats, m, row);
  for (; row + 4 <= m.rows; row += 4) transpose_rows(kFour, m, row);
  for (; row < m.rows; ++row) {
    for (std::int64_t column = 0; column < m.columns; ++column) {
      m.to[column * m.to_step + row] = m.from[row * m.from_step + column];
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
