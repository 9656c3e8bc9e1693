// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: sin and cos with the bits of function::sin_cos.
#if defined(COMMENSAL_CPU_ANGLES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_ANGLES_INL
#undef COMMENSAL_CPU_ANGLES_INL
#else
#define COMMENSAL_CPU_ANGLES_INL
#endif

#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// function::quarters_of in binary64, for a below kModerateAngle. The last bit of `rest` may be
/// another and, in the middle between two quadrants, so may the quadrant: of none of these numbers
/// a bit of sin, cos or tan changes (ExhaustiveAngles compares all).
HWY_INLINE function::Quarters<HighwayLanes> quarters_of_moderate(V a) {
  const hn::Half<Floats> halves;
  const hn::RebindToSigned<decltype(halves)> half_integers;
  const hn::Rebind<double, decltype(halves)> doubles;
  // 2 / pi in two parts, the first so short that a times it is exact.
  const auto two_over_pi = hn::Set(doubles, 0x1.45f306dc9c883p-1);
  const auto high = hn::Set(doubles, 0x1.45f306dp-1), low = hn::Set(doubles, 0x1.9391054a7f09dp-30);
  struct Half {
    hn::Vec<decltype(halves)> turns, rest;
    hn::Vec<decltype(half_integers)> quadrant;
  };
  const auto of = [&](hn::Vec<decltype(halves)> half) HWY_ATTR {
    const auto x = hn::PromoteTo(doubles, half);
    const auto quadrant = hn::Round(hn::Mul(x, two_over_pi));
    const auto exact = hn::Sub(hn::Mul(x, high), quadrant);
    const auto part = hn::MulAdd(x, low, exact);
    const auto turns = hn::DemoteTo(halves, part);
    const auto rest = hn::DemoteTo(halves, hn::Sub(part, hn::PromoteTo(doubles, turns)));
    return Half{turns, rest, hn::DemoteTo(half_integers, quadrant)};
  };
  const Half lower = of(hn::LowerHalf(halves, a)), upper = of(hn::UpperHalf(halves, a));
  return {hn::Combine(kFloats, upper.turns, lower.turns),
          hn::Combine(kFloats, upper.rest, lower.rest),
          hn::Combine(HighwayLanes::Integers(), upper.quadrant, lower.quadrant)};
}
HWY_INLINE function::Quarters<TwinLanes> quarters_of_moderate(TwinLanes::V a) {
  const auto first = quarters_of_moderate(a.a), second = quarters_of_moderate(a.b);
  return {
      {first.turns, second.turns}, {first.rest, second.rest}, {first.quadrant, second.quadrant}};
}

inline constexpr float kModerateAngle = 0x1p24f;
template <class L>
HWY_INLINE function::SinCos<L> sin_cos_of_moderate(typename L::V a) {
  return function::sin_cos_of<L>(function::reduced<L>(a, quarters_of_moderate(a)));
}

/// Most angles are such that their quadrant is soon found.
HWY_INLINE function::SinCos<HighwayLanes> sin_cos_of(V x) {
  const V a = hn::Abs(x);
  return all_below(a, kModerateAngle) ? sin_cos_of_moderate<HighwayLanes>(a)
                                      : function::sin_cos<HighwayLanes>(x);
}
HWY_INLINE function::SinCos<TwinLanes> sin_cos_of(TwinLanes::V x) {
  const TwinLanes::V a = TwinLanes::abs(x);
  if (HWY_LIKELY(all_below(a, kModerateAngle))) return sin_cos_of_moderate<TwinLanes>(a);
  const auto first = sin_cos_of(x.a), second = sin_cos_of(x.b);
  return {{first.sin, second.sin}, {first.cos, second.cos}};
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
