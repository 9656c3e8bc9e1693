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

/// All lanes: the largest. The order of extremes is total, so any order of comparing will do.
HWY_INLINE V largest_of(const float* x, std::int64_t count) {
  V best = hn::Neg(hn::Inf(kFloats));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    const V one = hn::IfThenElse(first(rest), load_first(rest, x + i), best);
    best = function::maximum<HighwayLanes>(best, one);
  }
  float lanes[kLanes];
  hn::StoreU(best, kFloats, lanes);
  for (int i = 1; i < kLanes; ++i) {
    best = function::maximum<HighwayLanes>(best, hn::Set(kFloats, lanes[i]));
  }
  hn::StoreU(best, kFloats, lanes);
  return hn::Set(kFloats, lanes[0]);
}

inline void softmax_row(const float* x, float* y, std::int64_t count) {
  const V largest = largest_of(x, count);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    const V power = function::exp<HighwayLanes>(hn::Sub(load_first(rest, x + i), largest));
    store_first(rest, power, y + i);
  }
  const V sum = hn::Set(kFloats, sum_of_32(y, count));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    store_first(rest, canonical(hn::Div(load_first(rest, y + i), sum)), y + i);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
