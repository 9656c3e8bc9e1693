// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: math/binary64*.cpp step by step, a vector at a time.
#if defined(COMMENSAL_CPU_DOUBLES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_DOUBLES_INL
#undef COMMENSAL_CPU_DOUBLES_INL
#else
#define COMMENSAL_CPU_DOUBLES_INL
#endif

#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <commensal/compute/kernels/math/pair64.hpp>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

using Doubles = LanesOf<double>;
using DoubleBits = hn::RebindToUnsigned<Doubles>;
using VD = hn::Vec<Doubles>;
inline constexpr Doubles kDoubles;
inline constexpr DoubleBits kDoubleBits;
inline constexpr double kInfinity64 = std::numeric_limits<double>::infinity();

HWY_INLINE VD all(double x) { return hn::Set(kDoubles, x); }
HWY_INLINE VD not_a_number() { return all(std::numeric_limits<double>::quiet_NaN()); }

/// As math::binary64::Pair.
struct PairLanes {
  VD high, low;
};
HWY_INLINE PairLanes exact_sum(VD a, VD b) {
  const VD sum = hn::Add(a, b), part = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part))};
}
HWY_INLINE PairLanes exact_product(VD a, VD b) {
  const VD product = hn::Mul(a, b);
  return {product, hn::MulSub(a, b, product)};
}
HWY_INLINE PairLanes add(PairLanes a, PairLanes b) {
  const PairLanes sum = exact_sum(a.high, b.high);
  return exact_sum(sum.high, hn::Add(sum.low, hn::Add(a.low, b.low)));
}
HWY_INLINE PairLanes multiply(PairLanes a, PairLanes b) {
  const PairLanes product = exact_product(a.high, b.high);
  const VD cross = hn::MulAdd(a.high, b.low, hn::Mul(a.low, b.high));
  return exact_sum(product.high, hn::Add(product.low, cross));
}
HWY_INLINE PairLanes divide(PairLanes a, PairLanes b) {
  const VD quotient = hn::Div(a.high, b.high);
  const VD rest = hn::NegMulAdd(quotient, b.high, a.high);
  const VD low = hn::Div(hn::Add(hn::NegMulAdd(quotient, b.low, rest), a.low), b.high);
  return exact_sum(quotient, low);
}

/// r / k for a whole k below 2^10, without a division. The remainder is exact, and what is lost of
/// its quotient is far less than any r / k is from the middle between two numbers. (Not where the
/// quotient is subnormal or -0: nobody here asks for those bits.)
HWY_INLINE VD over(VD r, double k) {
  const VD inverse = all(1.0 / k), quotient = hn::Mul(r, inverse);
  return hn::MulAdd(hn::NegMulAdd(quotient, all(k), r), inverse, quotient);
}

/// 2^n for whole n in [-1022, 1023].
HWY_INLINE VD power_of_2(VD n) {
  const auto bits = hn::BitCast(kDoubleBits, hn::Add(n, all(0x1.8p52)));  // n in the last ones
  return hn::BitCast(kDoubles,
                     hn::ShiftLeft<52>(hn::Add(bits, hn::Set(kDoubleBits, std::uint64_t{1023}))));
}

HWY_INLINE VD exp_tail(VD r) {
  VD sum = all(1.0);
  COMMENSAL_UNROLL
  for (int k = 18; k >= 3; --k) sum = hn::MulAdd(sum, over(r, k), all(1.0));
  return hn::Mul(hn::Mul(all(0.5), hn::Mul(r, r)), sum);
}

/// x.high + x.low = r + n log 2.
struct ExpReduced {
  VD n;
  PairLanes r;
};
HWY_INLINE ExpReduced exp_reduced(PairLanes x) {
  // Beyond these the result is infinity or +0 anyway.
  const VD high = hn::Max(hn::Min(x.high, all(710.5)), all(-746.5));
  const VD n = hn::Round(hn::Mul(high, all(0x1.71547652b82fep+0)));
  const VD short_high = hn::NegMulAdd(n, all(math::binary64::kLog2Short), high);
  const PairLanes short_part = exact_sum(short_high, x.low);
  const PairLanes long_part = exact_product(hn::Neg(n), all(math::binary64::kLog2Rest));
  return {n, add(short_part, long_part)};
}
/// `tail`: of r.high.
HWY_INLINE VD exp_finished(VD x, const ExpReduced& at, VD tail) {
  const PairLanes sum = exact_sum(all(1.0), at.r.high);
  const VD rest = hn::Add(tail, hn::Mul(at.r.low, hn::Add(all(1.0), at.r.high)));
  const VD m = hn::Add(sum.high, hn::Add(sum.low, rest));
  // In two factors, so that a subnormal result is rounded once.
  const VD half = hn::Round(hn::Mul(at.n, all(0.5)));
  VD y = hn::Mul(hn::Mul(m, power_of_2(half)), power_of_2(hn::Sub(at.n, half)));
  y = hn::IfThenElse(hn::Gt(x, all(710.5)), all(kInfinity64), y);
  y = hn::IfThenElse(hn::Lt(x, all(-746.5)), hn::Zero(kDoubles), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
HWY_INLINE VD exp_of(PairLanes x) {
  const ExpReduced at = exp_reduced(x);
  return exp_finished(x.high, at, exp_tail(at.r.high));
}
HWY_INLINE VD exp_minus_1(VD x) {
  const ExpReduced at = exp_reduced({x, hn::Zero(kDoubles)});
  const auto small = hn::Lt(hn::Abs(x), all(0.5));
  const VD tail = exp_tail(hn::IfThenElse(small, x, at.r.high));
  return hn::IfThenElse(small, hn::Add(x, tail), hn::Sub(exp_finished(x, at, tail), all(1.0)));
}

HWY_INLINE PairLanes twice_atanh(PairLanes s) {
  const PairLanes square = multiply(s, s), cube = multiply(square, s);
  const PairLanes third = divide(cube, {all(3.0), hn::Zero(kDoubles)});
  VD sum = all(1.0 / 37);
  COMMENSAL_UNROLL
  for (int k = 35; k >= 5; k -= 2) sum = hn::MulAdd(sum, square.high, all(1.0 / k));
  const VD tail = hn::Mul(hn::Mul(cube.high, square.high), sum);
  const PairLanes made = add(add(s, third), {tail, hn::Zero(kDoubles)});
  return {hn::Mul(all(2.0), made.high), hn::Mul(all(2.0), made.low)};
}

/// Of finite x > 0.
HWY_INLINE PairLanes log_of(VD x) {
  const auto is_tiny = hn::Lt(x, all(0x1p-1022));
  x = hn::IfThenElse(is_tiny, hn::Mul(x, all(0x1p54)), x);
  const auto bits = hn::BitCast(kDoubleBits, x);
  // The exponent behind the bits of 2^52, whose last bit counts ones.
  const auto shifted = hn::Or(hn::ShiftRight<52>(bits), hn::BitCast(kDoubleBits, all(0x1p52)));
  VD n = hn::Sub(hn::BitCast(kDoubles, shifted), all(0x1p52 + 1023));
  n = hn::Sub(n, hn::IfThenElseZero(is_tiny, all(54.0)));
  VD m = hn::BitCast(kDoubles,
                     hn::Or(hn::And(bits, hn::Set(kDoubleBits, std::uint64_t{0x000fffffffffffff})),
                            hn::Set(kDoubleBits, std::uint64_t{0x3ff0000000000000})));
  const auto is_large = hn::Gt(m, all(0x1.6a09e667f3bcdp+0));
  m = hn::IfThenElse(is_large, hn::Mul(m, all(0.5)), m);
  n = hn::Add(n, hn::IfThenElseZero(is_large, all(1.0)));
  const PairLanes logarithm = twice_atanh(divide(exact_sum(m, all(-1.0)), exact_sum(m, all(1.0))));
  const PairLanes whole = add({hn::Mul(n, all(math::binary64::kLog2Short)), hn::Zero(kDoubles)},
                              exact_product(n, all(math::binary64::kLog2Rest)));
  return add(whole, logarithm);
}

/// `value` >= 0 with the sign of x.
HWY_INLINE VD with_sign_of(VD x, VD value) {
  return hn::Xor(value, hn::And(x, hn::SignBit(kDoubles)));
}

struct Exp64 {
  static HWY_INLINE VD of(VD x) { return exp_of({x, hn::Zero(kDoubles)}); }
};
struct Log64 {
  static HWY_INLINE VD of(VD x) {
    const PairLanes made = log_of(x);
    VD y = hn::Add(made.high, made.low);
    y = hn::IfThenElse(hn::Eq(x, all(kInfinity64)), x, y);
    y = hn::IfThenElse(hn::Gt(x, hn::Zero(kDoubles)), y, not_a_number());
    return hn::IfThenElse(hn::Eq(x, hn::Zero(kDoubles)), all(-kInfinity64), y);
  }
};
struct Sigmoid64 {
  static HWY_INLINE VD of(VD x) {
    const VD e = Exp64::of(hn::Neg(hn::Abs(x)));
    const VD numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(kDoubles)), e, all(1.0));
    return hn::Div(numerator, hn::Add(all(1.0), e));
  }
};
struct Tanh64 {
  static HWY_INLINE VD of(VD x) {
    const VD a = hn::Abs(x), e = exp_minus_1(hn::Add(a, a));
    const VD y = hn::Div(e, hn::Add(e, all(2.0)));
    return with_sign_of(x, hn::IfThenElse(hn::Gt(a, all(22.0)), all(1.0), y));
  }
};

// sin and cos.
HWY_INLINE VD alternating_tail(VD z, int first) {
  VD sum = hn::Zero(kDoubles);
  COMMENSAL_UNROLL
  for (int k = 9; k >= 1; --k) {
    const double divisor = (first + 2 * k - 1) * (first + 2 * k);
    sum = hn::Mul(hn::Add(sum, all(1.0)), over(hn::Neg(z), divisor));
  }
  return sum;
}
HWY_INLINE VD sin_of(PairLanes r) {
  const VD z = hn::Mul(r.high, r.high);
  const VD low = hn::Mul(r.low, hn::Sub(all(1.0), hn::Mul(all(0.5), z)));
  return hn::Add(r.high, hn::Add(hn::Mul(r.high, alternating_tail(z, 1)), low));
}
HWY_INLINE VD cos_of(PairLanes r) {
  const PairLanes square = exact_product(r.high, r.high);
  const PairLanes first = exact_sum(all(1.0), hn::Mul(all(-0.5), square.high));
  const VD z = square.high;
  const VD rest = hn::Mul(hn::Mul(all(-0.5), z), alternating_tail(z, 2));
  const VD low = hn::Sub(hn::Sub(rest, hn::Mul(all(0.5), square.low)), hn::Mul(r.high, r.low));
  return hn::Add(first.high, hn::Add(first.low, low));
}

struct AngleLanes {
  PairLanes r;
  hn::Vec<DoubleBits> quadrant;
};
/// Of finite a >= 0. Large angles are reduced one by one: in integers.
HWY_INLINE AngleLanes angle_of(VD a) {
  constexpr double kSmall = 0x1.921fb54442d18p-1;
  if (hn::AllTrue(kDoubles, hn::Lt(a, all(kSmall)))) {
    return {{a, hn::Zero(kDoubles)}, hn::Zero(kDoubleBits)};
  }
  constexpr std::size_t kCount = static_cast<std::size_t>(kLanesOf<double>);
  HWY_ALIGN double high[kCount], low[kCount];
  HWY_ALIGN std::uint64_t quadrant[kCount];
  hn::Store(a, kDoubles, high);
  for (std::size_t i = 0; i < kCount; ++i) {
    const math::binary64::Angle angle = math::binary64::reduce(high[i]);
    high[i] = angle.r.high, low[i] = angle.r.low, quadrant[i] = angle.quadrant;
  }
  return {{hn::Load(kDoubles, high), hn::Load(kDoubles, low)}, hn::Load(kDoubleBits, quadrant)};
}
/// sin(x) where kTurned is 0, cos(x) where it is 1: sin of so many quadrants more.
template <int kTurned>
struct Wave64 {
  static HWY_INLINE VD of(VD x) {
    const VD a = hn::Abs(x);
    const auto finite = hn::Lt(a, all(kInfinity64));
    const AngleLanes angle = angle_of(hn::IfThenElseZero(finite, a));
    const auto one = hn::Set(kDoubleBits, std::uint64_t{1});
    const auto quadrant = hn::Add(angle.quadrant, hn::Set(kDoubleBits, std::uint64_t{kTurned}));
    const auto is_cosine = hn::MaskFromVec(
        hn::BitCast(kDoubles, hn::VecFromMask(kDoubleBits, hn::Eq(hn::And(quadrant, one), one))));
    VD y = hn::IfThenElse(is_cosine, cos_of(angle.r), sin_of(angle.r));
    const auto sign = hn::ShiftLeft<63>(hn::ShiftRight<1>(quadrant));  // in quadrants 2 and 3
    y = hn::Xor(y, hn::BitCast(kDoubles, sign));
    if (kTurned == 0) y = with_sign_of(x, y);
    return hn::IfThenElse(finite, y, not_a_number());
  }
};

/// For finite x that is not 0, and finite y.
HWY_INLINE VD pow_of(VD x, VD y) {
  const PairLanes logarithm = log_of(hn::Abs(x));
  const VD product = hn::Mul(y, logarithm.high);
  const PairLanes exact = multiply({y, hn::Zero(kDoubles)}, logarithm);
  // Far beyond what exp can hold, y log a need not be exact, and could overflow.
  const auto far = hn::Gt(hn::Abs(product), all(1000.0));
  const VD made = exp_of({hn::IfThenElse(far, product, exact.high),
                          hn::IfThenElse(far, hn::Zero(kDoubles), exact.low)});
  const VD half = hn::Mul(y, all(0.5));
  const auto is_whole = hn::Eq(hn::Round(y), y);
  const auto is_odd = hn::AndNot(hn::Eq(hn::Round(half), half), is_whole);
  const auto is_negative = hn::Lt(x, hn::Zero(kDoubles));
  VD signed_made = hn::IfThenElse(hn::And(is_negative, is_odd), hn::Neg(made), made);
  return hn::IfThenElse(hn::AndNot(is_whole, is_negative), not_a_number(), signed_made);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
