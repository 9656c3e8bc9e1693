// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the lanes that math/*_inl.hpp asks for, in Highway's words,
// and those functions themselves, compiled for this instruction set.
#if defined(COMMENSAL_CPU_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_MATH_INL
#undef COMMENSAL_CPU_MATH_INL
#else
#define COMMENSAL_CPU_MATH_INL
#endif

#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

struct HighwayLanes {
  using Integers = hn::RebindToSigned<Floats>;
  using V = hn::Vec<Floats>;
  using I = hn::Vec<Integers>;
  using M = hn::Mask<Floats>;

  static HWY_INLINE V set(float x) { return hn::Set(Floats(), x); }
  static HWY_INLINE I set_int(std::int32_t i) { return hn::Set(Integers(), i); }
  static HWY_INLINE V add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE V sub(V a, V b) { return hn::Sub(a, b); }
  static HWY_INLINE V mul(V a, V b) { return hn::Mul(a, b); }
  static HWY_INLINE V div(V a, V b) { return hn::Div(a, b); }
  static HWY_INLINE V sqrt(V a) { return hn::Sqrt(a); }
  static HWY_INLINE V mul_add(V a, V b, V c) { return hn::MulAdd(a, b, c); }
  static HWY_INLINE V neg(V a) { return hn::Xor(a, hn::SignBit(Floats())); }
  static HWY_INLINE V abs(V a) { return hn::Abs(a); }
  static HWY_INLINE M less(V a, V b) { return hn::Lt(a, b); }
  static HWY_INLINE M equal(V a, V b) { return hn::Eq(a, b); }
  static HWY_INLINE M is_nan(V a) { return hn::IsNaN(a); }
  static HWY_INLINE M both(M a, M b) { return hn::And(a, b); }
  static HWY_INLINE M either(M a, M b) { return hn::Or(a, b); }
  static HWY_INLINE M negate(M a) { return hn::Not(a); }
  static HWY_INLINE V select(M m, V yes, V no) { return hn::IfThenElse(m, yes, no); }
  static HWY_INLINE I to_int(V a) { return hn::NearestInt(a); }
  static HWY_INLINE V to_float(I a) { return hn::ConvertTo(Floats(), a); }
  static HWY_INLINE I bits(V a) { return hn::BitCast(Integers(), a); }
  static HWY_INLINE V from_bits(I a) { return hn::BitCast(Floats(), a); }
  static HWY_INLINE I add_int(I a, I b) { return hn::Add(a, b); }
  static HWY_INLINE I sub_int(I a, I b) { return hn::Sub(a, b); }
  static HWY_INLINE I and_int(I a, I b) { return hn::And(a, b); }
  template <int n>
  static HWY_INLINE I shift_left(I a) {
    return hn::ShiftLeft<n>(a);
  }
  template <int n>
  static HWY_INLINE I shift_right(I a) {
    return hn::ShiftRight<n>(a);
  }
  static HWY_INLINE M less_int(I a, I b) { return hn::RebindMask(Floats(), hn::Lt(a, b)); }
};

namespace function {
#include <commensal/compute/kernels/math/all_inl.hpp>
}  // namespace function

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
