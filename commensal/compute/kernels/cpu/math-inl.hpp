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
#include <commensal/compute/kernels/math/device.hpp>
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

/// Two vectors at a time: the second one's operations fill the gaps in which the first waits.
struct TwinLanes {
  using One = HighwayLanes;
  struct V {
    One::V a, b;
  };
  struct I {
    One::I a, b;
  };
  struct M {
    One::M a, b;
  };

  static HWY_INLINE V set(float x) { return {One::set(x), One::set(x)}; }
  static HWY_INLINE I set_int(std::int32_t i) { return {One::set_int(i), One::set_int(i)}; }
  static HWY_INLINE V add(V x, V y) { return {One::add(x.a, y.a), One::add(x.b, y.b)}; }
  static HWY_INLINE V sub(V x, V y) { return {One::sub(x.a, y.a), One::sub(x.b, y.b)}; }
  static HWY_INLINE V mul(V x, V y) { return {One::mul(x.a, y.a), One::mul(x.b, y.b)}; }
  static HWY_INLINE V div(V x, V y) { return {One::div(x.a, y.a), One::div(x.b, y.b)}; }
  static HWY_INLINE V sqrt(V x) { return {One::sqrt(x.a), One::sqrt(x.b)}; }
  static HWY_INLINE V mul_add(V x, V y, V z) {
    return {One::mul_add(x.a, y.a, z.a), One::mul_add(x.b, y.b, z.b)};
  }
  static HWY_INLINE V neg(V x) { return {One::neg(x.a), One::neg(x.b)}; }
  static HWY_INLINE V abs(V x) { return {One::abs(x.a), One::abs(x.b)}; }
  static HWY_INLINE M less(V x, V y) { return {One::less(x.a, y.a), One::less(x.b, y.b)}; }
  static HWY_INLINE M equal(V x, V y) { return {One::equal(x.a, y.a), One::equal(x.b, y.b)}; }
  static HWY_INLINE M is_nan(V x) { return {One::is_nan(x.a), One::is_nan(x.b)}; }
  static HWY_INLINE M both(M x, M y) { return {One::both(x.a, y.a), One::both(x.b, y.b)}; }
  static HWY_INLINE M either(M x, M y) { return {One::either(x.a, y.a), One::either(x.b, y.b)}; }
  static HWY_INLINE M negate(M x) { return {One::negate(x.a), One::negate(x.b)}; }
  static HWY_INLINE V select(M m, V yes, V no) {
    return {One::select(m.a, yes.a, no.a), One::select(m.b, yes.b, no.b)};
  }
  static HWY_INLINE I to_int(V x) { return {One::to_int(x.a), One::to_int(x.b)}; }
  static HWY_INLINE V to_float(I x) { return {One::to_float(x.a), One::to_float(x.b)}; }
  static HWY_INLINE I bits(V x) { return {One::bits(x.a), One::bits(x.b)}; }
  static HWY_INLINE V from_bits(I x) { return {One::from_bits(x.a), One::from_bits(x.b)}; }
  static HWY_INLINE I add_int(I x, I y) { return {One::add_int(x.a, y.a), One::add_int(x.b, y.b)}; }
  static HWY_INLINE I sub_int(I x, I y) { return {One::sub_int(x.a, y.a), One::sub_int(x.b, y.b)}; }
  static HWY_INLINE I and_int(I x, I y) { return {One::and_int(x.a, y.a), One::and_int(x.b, y.b)}; }
  template <int n>
  static HWY_INLINE I shift_left(I x) {
    return {One::shift_left<n>(x.a), One::shift_left<n>(x.b)};
  }
  template <int n>
  static HWY_INLINE I shift_right(I x) {
    return {One::shift_right<n>(x.a), One::shift_right<n>(x.b)};
  }
  static HWY_INLINE M less_int(I x, I y) {
    return {One::less_int(x.a, y.a), One::less_int(x.b, y.b)};
  }
};

/// False where one is NaN.
HWY_INLINE bool all_below(V a, float bound) {
  return hn::AllTrue(kFloats, hn::Lt(a, hn::Set(kFloats, bound)));
}
HWY_INLINE bool all_below(TwinLanes::V a, float bound) {
  return all_below(a.a, bound) && all_below(a.b, bound);
}

// A call in the middle of a loop would spill every vector and load every constant anew.
#pragma push_macro("COMMENSAL_DEVICE")
#undef COMMENSAL_DEVICE
#define COMMENSAL_DEVICE __attribute__((always_inline))
namespace function {
#include <commensal/compute/kernels/math/all_inl.hpp>
}  // namespace function
#pragma pop_macro("COMMENSAL_DEVICE")

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
