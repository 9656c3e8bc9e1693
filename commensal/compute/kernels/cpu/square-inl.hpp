// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: pow(x, 2) with the bits of function::pow, which are not those
// of x * x.
#if defined(COMMENSAL_CPU_SQUARE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_SQUARE_INL
#undef COMMENSAL_CPU_SQUARE_INL
#else
#define COMMENSAL_CPU_SQUARE_INL
#endif

#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// Of the special cases, 2 (even, above 0) leaves 0, infinity and NaN; pow_positive(1, 2) is 1.
HWY_INLINE V pow_of_2(V x) {
  const V a = hn::Abs(x), infinity = hn::Inf(kFloats), zero = hn::Zero(kFloats);
  V r = function::pow_positive<HighwayLanes>(a, hn::Set(kFloats, 2.0f));
  r = hn::IfThenElse(hn::Eq(a, zero), zero, r);
  r = hn::IfThenElse(hn::Eq(a, infinity), infinity, r);
  return hn::IfThenElse(hn::IsNaN(x), x, r);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
