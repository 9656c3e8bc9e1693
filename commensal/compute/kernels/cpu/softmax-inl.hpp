// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: one row of Softmax.
#if defined(COMMENSAL_CPU_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_SOFTMAX_INL
#undef COMMENSAL_CPU_SOFTMAX_INL
#else
#define COMMENSAL_CPU_SOFTMAX_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// All lanes: the largest, as far as Softmax can tell: of zeros any, as e^(x - 0) knows no sign,
/// and among NaNs whatever they leave, as each makes the whole row NaN by way of the sum.
HWY_INLINE V largest_of(const float* x, std::int64_t count) {
  constexpr int kChains = 4;  // so that comparisons do not wait for each other
  V best[kChains];
  for (V& one : best) one = hn::Neg(hn::Inf(kFloats));
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    COMMENSAL_UNROLL
    for (int c = 0; c < kChains; ++c) {
      best[c] = hn::Max(hn::LoadU(kFloats, x + i + c * kLanes), best[c]);
    }
  }
  for (; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    best[0] = hn::Max(hn::IfThenElse(first(rest), load_first(rest, x + i), best[0]), best[0]);
  }
  const V all = hn::Max(hn::Max(best[0], best[1]), hn::Max(best[2], best[3]));
  return hn::MaxOfLanes(kFloats, all);
}

/// Writes term(x) and returns their sum in 32 lanes.
template <class Term>
HWY_INLINE float kept_sum_of_32(const float* x, float* y, std::int64_t count, const Term& term) {
  V acc[kSumVectors];
  for (V& one : acc) one = absent();
  std::int64_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kSumVectors; ++v) {
      const V one = term(hn::LoadU(kFloats, x + i + v * kLanes));
      hn::StoreU(one, kFloats, y + i + v * kLanes);
      acc[v] = hn::Add(acc[v], one);
    }
  }
  for (int v = 0; i < count; ++v, i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    const V one = term(load_first(rest, x + i));
    store_first(rest, one, y + i);
    acc[v] = hn::Add(acc[v], hn::IfThenElse(first(rest), one, absent()));
  }
  float lanes[kSumLanes];
  for (int v = 0; v < kSumVectors; ++v) hn::StoreU(acc[v], kFloats, lanes + v * kLanes);
  return tree_of_32(lanes);
}

inline void softmax_row(const float* x, float* y, std::int64_t count) {
  const V largest = largest_of(x, count);
  const V sum = hn::Set(kFloats, kept_sum_of_32(x, y, count, [&](V one) HWY_ATTR {
                          return function::exp<HighwayLanes>(hn::Sub(one, largest));
                        }));
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(canonical(hn::Div(hn::LoadU(kFloats, y + i), sum)), kFloats, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    store_first(rest, canonical(hn::Div(load_first(rest, y + i), sum)), y + i);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
