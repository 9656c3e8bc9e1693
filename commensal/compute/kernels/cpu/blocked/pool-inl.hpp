// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: PoolRow.
#if defined(COMMENSAL_CPU_BLOCKED_POOL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_BLOCKED_POOL_INL
#undef COMMENSAL_CPU_BLOCKED_POOL_INL
#else
#define COMMENSAL_CPU_BLOCKED_POOL_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/lanes.hpp>
#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// Calls take(tap of the window, element) for all taps of a column that are inside the picture.
template <class Take>
HWY_INLINE void for_taps(const PoolRow& r, const PoolColumn& column, int first, const Take& take) {
  const float* line = r.from + column.from * 16 + first;
  std::uint32_t row_tap = r.first_row * r.taps_across + column.first;
  for (int i = 0; i < r.height; ++i, line += r.row_step, row_tap += r.taps_across) {
    const float* at = line;
    std::uint32_t tap = row_tap;
    for (int j = 0; j < column.width; ++j, at += r.column_step) {
      take(tap++, hn::LoadU(kFloats, at));
    }
  }
}

/// The larger of neither NaN nor two zeros is one instruction. Of zeros the signs are gathered: the
/// largest is -0 only if all are negative. A NaN spoils a sum of all; then the slow way is taken.
HWY_INLINE V maximum_of(const PoolRow& r, const PoolColumn& column, int first) {
  V best = hn::Neg(hn::Inf(kFloats)), sum = hn::Zero(kFloats);
  V signs = hn::Set(kFloats, -0.0f);
  for_taps(r, column, first, [&](std::uint32_t, V x) HWY_ATTR {
    best = hn::Max(best, x);
    sum = hn::Add(sum, x);
    signs = hn::And(signs, x);
  });
  if (HWY_LIKELY(hn::AllFalse(kFloats, hn::IsNaN(sum)))) {
    return hn::IfThenElse(hn::Eq(best, hn::Zero(kFloats)), signs, best);
  }
  best = hn::Neg(hn::Inf(kFloats));
  for_taps(r, column, first,
           [&](std::uint32_t, V x) HWY_ATTR { best = function::maximum<HighwayLanes>(best, x); });
  return canonical(best);
}

inline void maximum_row(const PoolRow& r) {
  for (int i = 0; i < r.count; ++i) {
    for (int first = 0; first < 16; first += kLanes) {
      hn::StoreU(maximum_of(r, r.columns[i], first), kFloats, r.out + i * 16 + first);
    }
  }
}

/// Of a whole window of 3 x 3.
HWY_INLINE V sum_of_9(const PoolRow& r, const PoolColumn& column, int first) {
  const float* const from = r.from + column.from * 16 + first;
  V lanes[9];
  COMMENSAL_UNROLL
  for (int t = 0; t < 9; ++t) {
    lanes[t] = hn::LoadU(kFloats, from + t / 3 * r.row_step + t % 3 * r.column_step);
  }
  return tree_of<9>(lanes);
}

/// Tap t in lane t mod 32 (docs/numerics.md). What lies in the padding is absent: -0.
HWY_INLINE V sum_of(const PoolRow& r, const PoolColumn& column, int first) {
  V lanes[kSumLanes];
  for (V& lane : lanes) lane = hn::Set(kFloats, -0.0f);
  for_taps(r, column, first, [&](std::uint32_t tap, V x) HWY_ATTR {
    lanes[tap % kSumLanes] = hn::Add(lanes[tap % kSumLanes], x);
  });
  return tree_of<kSumLanes>(lanes);
}

inline void average_row(const PoolRow& r) {
  for (int i = 0; i < r.count; ++i) {
    const PoolColumn& column = r.columns[i];
    const V divisor = hn::Set(kFloats, r.divisors[i]);
    const bool whole_9 = r.height == 3 && column.width == 3 && r.taps_across == 3;
    for (int first = 0; first < 16; first += kLanes) {
      const V sum = whole_9 ? sum_of_9(r, column, first) : sum_of(r, column, first);
      const V mean = hn::Div(hn::Add(sum, hn::Zero(kFloats)), divisor);
      hn::StoreU(canonical(mean), kFloats, r.out + i * 16 + first);
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
