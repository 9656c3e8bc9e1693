// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: RowFinish, a vector at a time.
#if defined(COMMENSAL_CPU_FINISH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_FINISH_INL
#undef COMMENSAL_CPU_FINISH_INL
#else
#define COMMENSAL_CPU_FINISH_INL
#endif

#include <commensal/compute/kernels/cpu/blocked/row_product.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// -0 counts as +0.
HWY_INLINE V bias_of(const RowFinish& how, std::int64_t column) {
  if (how.bias == nullptr) return hn::Zero(kFloats);
  return hn::Add(hn::LoadU(kFloats, how.bias + column), hn::Zero(kFloats));
}

/// low <= x <= high. A sum that a bias was added to is never -0, so ties of zeros do not arise; of
/// a NaN it is the second operand that comes out.
HWY_INLINE V clamped(V x, V low, V high) { return hn::Min(high, hn::Max(low, x)); }

/// For the vector of columns from `column` on.
struct Finish {
  V bias, low, high;

  Finish(const RowFinish& how, std::int64_t column) : bias(bias_of(how, column)) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    low = hn::Set(kFloats, how.clamps ? how.low : -kInfinity);
    high = hn::Set(kFloats, how.clamps ? how.high : kInfinity);
  }
  HWY_INLINE V operator()(V sum, const float* residual) const {
    V x = hn::Add(sum, bias);
    if (residual != nullptr) x = hn::Add(x, hn::LoadU(kFloats, residual));
    return canonical(clamped(x, low, high));
  }
};

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
