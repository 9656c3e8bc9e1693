// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: pow(x, 2) and erf with the bits of function::pow and
// function::erf, without what their arguments rule out.
#if defined(COMMENSAL_CPU_SPECIAL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_SPECIAL_INL
#undef COMMENSAL_CPU_SPECIAL_INL
#else
#define COMMENSAL_CPU_SPECIAL_INL
#endif

#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// pow(x, 2). Of the special cases, 2 (even, above 0) leaves 0, infinity and NaN; pow_positive(1,
/// 2) is 1.
template <class L>
HWY_INLINE typename L::V pow_of_2(typename L::V x) {
  const auto a = L::abs(x), zero = L::set(0.0f);
  const auto infinity = L::from_bits(L::set_int(0x7f800000));
  auto r = function::pow_positive<L>(a, L::set(2.0f));
  r = L::select(L::equal(a, zero), zero, r);
  r = L::select(L::equal(a, infinity), infinity, r);
  return L::select(L::is_nan(x), x, r);
}

/// exp(x) for x <= 0. A subnormal result is rounded as an integer, its bits: some machines take a
/// hundred times as long for the multiplication that makes one. A NaN is any.
template <class L>
HWY_INLINE typename L::V exp_of_negative(typename L::V x) {
  const auto least = L::set(-104.0f), one = L::set(1.0f);
  const auto [m, n] = function::exp_parts<L>(L::select(L::less(x, least), least, x), L::set(0.0f));
  const auto is_small = L::both(L::less_int(n, L::set_int(-125)), L::less_int(L::set_int(-151), n));
  const auto unit = function::power_of_2<L>(L::add_int(n, L::set_int(149)));
  const auto small = L::to_int(L::mul(m, L::select(is_small, unit, one)));
  const auto normal = L::add_int(L::bits(m), L::template shift_left<23>(n));
  const auto y = L::select(is_small, L::from_bits(small), L::from_bits(normal));
  return L::select(L::is_nan(x), x, y);
}

/// e / sum for sum >= 1, with the same care: of a subnormal e the quotient is rounded to an
/// integer, by its remainder where rounding it before has made it look like the middle between two.
HWY_INLINE V share_of(V e, V sum) {
  const hn::RebindToUnsigned<Floats> words;
  const hn::RebindToSigned<Floats> integers;
  const auto bits = hn::BitCast(words, e);
  const auto is_small = hn::RebindMask(
      kFloats, hn::Lt(hn::Sub(bits, hn::Set(words, 1u)), hn::Set(words, 0x007fffffu)));
  if (HWY_LIKELY(hn::AllFalse(kFloats, is_small))) return hn::Div(e, sum);
  const V units = hn::ConvertTo(kFloats, hn::BitCast(integers, e));
  const V q = hn::Div(hn::IfThenElse(is_small, units, e), sum);
  auto nearest = hn::NearestInt(q);
  const V rest = hn::NegMulAdd(q, sum, units), zero = hn::Zero(kFloats);
  const V beyond = hn::Sub(q, hn::ConvertTo(kFloats, nearest)), half = hn::Set(kFloats, 0.5f);
  const auto up = hn::And(hn::Eq(beyond, half), hn::Gt(rest, zero));
  const auto down = hn::And(hn::Eq(beyond, hn::Neg(half)), hn::Lt(rest, zero));
  const auto one = hn::Set(integers, 1);
  nearest = hn::Add(nearest, hn::IfThenElseZero(hn::RebindMask(integers, up), one));
  nearest = hn::Sub(nearest, hn::IfThenElseZero(hn::RebindMask(integers, down), one));
  return hn::IfThenElse(is_small, hn::BitCast(kFloats, nearest), q);
}

/// exp(x) for |x| < 87, of which nothing overflows nor is subnormal; of NaN any bits.
template <class L>
HWY_INLINE typename L::V exp_of_moderate(typename L::V x) {
  const auto [m, n] = function::exp_parts<L>(x, L::set(0.0f));
  return L::from_bits(L::add_int(L::bits(m), L::template shift_left<23>(n)));
}
template <class L>
HWY_INLINE typename L::V exp_of(typename L::V x) {
  if (HWY_LIKELY(all_below(L::abs(x), 87.0f))) return exp_of_moderate<L>(x);
  return function::exp<L>(x);
}

/// sigmoid(x), of NaN any NaN.
template <class L>
HWY_INLINE typename L::V sigmoid_of(typename L::V x) {
  const auto one = L::set(1.0f);
  const auto e = exp_of<L>(L::neg(L::abs(x)));
  const auto numerator = L::select(L::less(x, L::set(0.0f)), e, one);
  return L::div(numerator, L::add(one, e));
}

/// tanh(x), of NaN any NaN: 1 from 20 on, where nothing overflows.
template <class L>
HWY_INLINE typename L::V tanh_of(typename L::V x) {
  const auto a = L::abs(x), twice = L::add(a, a), most = L::set(40.0f), one = L::set(1.0f);
  const auto e = exp_of_moderate<L>(L::select(L::less(most, twice), most, twice));
  const auto large = L::sub(one, L::div(L::set(2.0f), L::add(e, one)));
  const auto y = L::select(L::less(a, L::set(0.65f)), function::tanh_small<L>(a), large);
  return function::with_sign_of<L>(x, L::select(L::is_nan(x), x, y));
}

/// erf(x), of NaN any number: e has so moderate an exponent that adding to it scales.
template <class L>
HWY_INLINE typename L::V erf_of_number(typename L::V x) {
  const auto a = L::abs(x), most = L::set(3.95f);
  const auto q = function::erf_exponent<L>(L::select(L::less(most, a), most, a));
  const auto [m, n] = function::exp_parts<L>(L::neg(q), L::set(0.0f));
  const auto e = L::from_bits(L::add_int(L::bits(m), L::template shift_left<23>(n)));
  const auto large = L::sub(L::set(1.0f), e);
  const auto small = function::erf_small<L>(a);
  const auto magnitude = L::select(L::less(a, L::set(0.93f)), small, large);
  const auto sign = L::and_int(L::bits(x), L::set_int(INT32_MIN));
  return L::from_bits(L::add_int(L::bits(magnitude), sign));
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
