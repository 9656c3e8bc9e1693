// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

/// IEEE 754 arithmetic in integers, for arbiters: numbers are their bits, no floating-point type
/// and no instruction of the host's floating-point unit takes part. Round to nearest, ties to even;
/// subnormals as IEEE 754 has them; every NaN that comes out is the canonical one
/// (docs/numerics.md). Pure functions. Source: IEEE 754-2019.
namespace commensal::scalar {

__extension__ using Wide128 = unsigned __int128;

/// One binary format. `Wide` holds a product of two significands and 14 bits more.
template <class BitsT, class WideT, int kSignificandBits, int kExponentBits>
struct Format {
  using Bits = BitsT;
  using Wide = WideT;
  static constexpr int kPrecision = kSignificandBits;  // the leading one included
  static constexpr int kFractionBits = kSignificandBits - 1;
  static constexpr int kExponentMax = (1 << kExponentBits) - 1;  // of infinities and NaNs
  static constexpr int kBias = kExponentMax / 2;
  static constexpr int kTop = static_cast<int>(sizeof(Wide)) * 8 - 2;  // where a Wide is normalised
  static constexpr Bits kSign = Bits{1} << (kFractionBits + kExponentBits);
  static constexpr Bits kInfinity = static_cast<Bits>(kExponentMax) << kFractionBits;
  static constexpr Bits kNan = kInfinity | Bits{1} << (kFractionBits - 1);
  static constexpr Bits kFraction = (Bits{1} << kFractionBits) - 1;
};
using Binary32 = Format<std::uint32_t, std::uint64_t, 24, 8>;
using Binary64 = Format<std::uint64_t, Wide128, 53, 11>;
// Only stored: computed with in binary32.
using Binary16 = Format<std::uint32_t, std::uint64_t, 11, 5>;
using Bfloat16 = Format<std::uint32_t, std::uint64_t, 8, 8>;

/// A finite number not zero: +-significand * 2^(exponent - kTop), significand in [2^kTop,
/// 2^(kTop+1)).
template <class F>
struct Unpacked {
  bool negative = false;
  int exponent = 0;
  typename F::Wide significand = 0;
};

template <class F>
class Soft {
 public:
  using Bits = typename F::Bits;
  using Wide = typename F::Wide;

  static constexpr bool is_nan(Bits a) { return (a & ~F::kSign) > F::kInfinity; }
  static constexpr bool is_infinite(Bits a) { return (a & ~F::kSign) == F::kInfinity; }
  static constexpr bool is_zero(Bits a) { return (a & ~F::kSign) == 0; }
  static constexpr bool is_negative(Bits a) { return (a & F::kSign) != 0; }
  static constexpr Bits canonical(Bits a) { return is_nan(a) ? F::kNan : a; }
  static constexpr Bits neg(Bits a) { return is_nan(a) ? F::kNan : a ^ F::kSign; }
  static constexpr Bits abs(Bits a) { return is_nan(a) ? F::kNan : a & ~F::kSign; }

  /// IEEE comparisons: false where either is NaN; -0 equals +0.
  static constexpr bool equal(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b)) return false;
    return a == b || (is_zero(a) && is_zero(b));
  }
  static constexpr bool less(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b) || (is_zero(a) && is_zero(b))) return false;
    return below(a, b);
  }
  /// IEEE 754-2019 maximum and minimum: NaN if either is; +0 above -0.
  static constexpr Bits maximum(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b)) return F::kNan;
    return below(a, b) ? b : a;
  }
  static constexpr Bits minimum(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b)) return F::kNan;
    return below(b, a) ? b : a;
  }

  /// Of the order of extremes: NaN before all, +0 above -0. `above`: a is the larger.
  static constexpr bool above(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b)) return is_nan(a) && !is_nan(b);
    return below(b, a);
  }
  /// Likewise where the smaller is asked for, so that NaN still comes first.
  static constexpr bool beneath(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b)) return is_nan(a) && !is_nan(b);
    return below(a, b);
  }

  /// a * b + c, rounded once.
  static Bits fma(Bits a, Bits b, Bits c) {
    const bool negative = is_negative(a) != is_negative(b);
    if (is_nan(a) || is_nan(b) || is_nan(c)) return F::kNan;
    if (is_infinite(a) || is_infinite(b)) {
      const bool undefined =
          is_zero(a) || is_zero(b) || (is_infinite(c) && is_negative(c) != negative);
      return undefined ? F::kNan : signed_bits(negative, F::kInfinity);
    }
    if (is_infinite(c)) return c;
    if (is_zero(a) || is_zero(b)) {
      if (!is_zero(c)) return c;
      return negative == is_negative(c) ? c : Bits{0};
    }
    const Unpacked<F> product = product_of(unpack(a), unpack(b), negative);
    return is_zero(c) ? pack(product) : pack_sum(product, unpack(c));
  }
  static Bits add(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b)) return F::kNan;
    if (is_infinite(a)) return is_infinite(b) && a != b ? F::kNan : a;
    if (is_infinite(b)) return b;
    if (is_zero(a) && is_zero(b)) return a == b ? a : Bits{0};
    if (is_zero(a)) return b;
    if (is_zero(b)) return a;
    return pack_sum(unpack(a), unpack(b));
  }
  static Bits sub(Bits a, Bits b) { return add(a, neg(b)); }
  static Bits mul(Bits a, Bits b) {
    const bool negative = is_negative(a) != is_negative(b);
    if (is_nan(a) || is_nan(b)) return F::kNan;
    if (is_infinite(a) || is_infinite(b)) {
      return is_zero(a) || is_zero(b) ? F::kNan : signed_bits(negative, F::kInfinity);
    }
    if (is_zero(a) || is_zero(b)) return signed_bits(negative, 0);
    return pack(product_of(unpack(a), unpack(b), negative));
  }
  static Bits div(Bits a, Bits b) {
    const bool negative = is_negative(a) != is_negative(b);
    if (is_nan(a) || is_nan(b)) return F::kNan;
    if (is_infinite(a)) return is_infinite(b) ? F::kNan : signed_bits(negative, F::kInfinity);
    if (is_infinite(b)) return signed_bits(negative, 0);
    if (is_zero(b)) return is_zero(a) ? F::kNan : signed_bits(negative, F::kInfinity);
    if (is_zero(a)) return signed_bits(negative, 0);
    const Unpacked<F> x = unpack(a), y = unpack(b);
    // A quotient of kPrecision + 2 bits or one more, and whether anything is left.
    constexpr int kShift = F::kPrecision + 2;
    const Wide numerator = (x.significand >> kSpare) << kShift, divisor = y.significand >> kSpare;
    const Wide quotient = numerator / divisor * 2 + (numerator % divisor != 0 ? 1 : 0);
    return pack(normalised({negative, x.exponent - y.exponent + F::kTop - kShift - 1, quotient}));
  }
  static Bits sqrt(Bits a) {
    if (is_nan(a) || is_zero(a)) return canonical(a);
    if (is_negative(a)) return F::kNan;
    if (is_infinite(a)) return a;
    const Unpacked<F> x = unpack(a);
    // value = m 2^e with e even and m below 2^(2 kPrecision + 4): the root has kPrecision + 2 bits.
    int exponent = x.exponent - F::kFractionBits;
    Wide m = x.significand >> kSpare;
    const int shift = F::kPrecision + 3 + ((exponent + F::kPrecision + 3) & 1);
    m <<= shift;
    exponent -= shift;
    Wide root = 0, rest = m;
    for (Wide bit = Wide{1} << (F::kTop & ~1); bit != 0; bit >>= 2) {
      const bool fits = rest >= root + bit;
      if (fits) rest -= root + bit;
      root = (root >> 1) + (fits ? bit : 0);
    }
    return pack(normalised({false, exponent / 2 + F::kTop - 1, root * 2 + (rest != 0 ? 1 : 0)}));
  }

  /// To an integer, kept in this format; the sign of a zero is that of a.
  enum class Towards { kNearestEven, kDown, kUp };
  static Bits round(Bits a, Towards towards) {
    if (is_nan(a)) return F::kNan;
    const int exponent = static_cast<int>((a & F::kInfinity) >> F::kFractionBits) - F::kBias;
    if (is_zero(a) || exponent >= F::kFractionBits) return a;
    const bool negative = is_negative(a);
    if (exponent < 0) {
      const bool up =
          towards == Towards::kNearestEven
              ? (a & ~F::kSign) > ((static_cast<Bits>(F::kBias - 1)) << F::kFractionBits)
              : negative == (towards == Towards::kDown);
      return signed_bits(negative, up ? static_cast<Bits>(F::kBias) << F::kFractionBits : 0);
    }
    const Bits unit = Bits{1} << (F::kFractionBits - exponent), rest = a & (unit - 1);
    const Bits kept = a - rest;
    const bool up = towards == Towards::kNearestEven
                        ? rest > unit / 2 || (rest == unit / 2 && (kept & unit) != 0)
                        : rest != 0 && negative == (towards == Towards::kDown);
    return up ? kept + unit : kept;
  }

  /// Towards zero, to a signed integer of 2^digits values either way; what lies outside saturates,
  /// NaN is 0.
  static std::int64_t to_integer(Bits a, int digits) {
    if (is_nan(a)) return 0;
    const std::int64_t highest = static_cast<std::int64_t>((std::uint64_t{1} << digits) - 1);
    const int exponent = static_cast<int>((a & F::kInfinity) >> F::kFractionBits) - F::kBias;
    if (exponent < 0) return 0;
    if (exponent >= digits) return is_negative(a) ? -highest - 1 : highest;
    const auto significand =
        static_cast<std::uint64_t>((a & F::kFraction) | Bits{1} << F::kFractionBits);
    const auto magnitude = static_cast<std::int64_t>(
        exponent <= F::kFractionBits ? significand >> (F::kFractionBits - exponent)
                                     : significand << (exponent - F::kFractionBits));
    return is_negative(a) ? -magnitude : magnitude;
  }

  /// An integer, correctly rounded.
  static Bits of_integer(std::int64_t value) {
    if (value == 0) return 0;
    const auto bits = static_cast<std::uint64_t>(value);
    const bool negative = value < 0;
    const std::uint64_t magnitude = negative ? ~bits + 1 : bits;
    if constexpr (sizeof(Wide) > 8) {
      return pack(normalised({negative, F::kTop, magnitude}));
    } else {  // keeps 62 of its bits, the last saying whether anything was lost
      const std::uint64_t halved = magnitude >> 2 | ((magnitude & 3) != 0 ? 1 : 0);
      const bool is_big = magnitude >> 62 != 0;
      return pack(normalised({negative, F::kTop + (is_big ? 2 : 0), is_big ? halved : magnitude}));
    }
  }

  static Unpacked<F> unpack(Bits a) {
    const Bits fraction = a & F::kFraction;
    const int field = static_cast<int>((a & F::kInfinity) >> F::kFractionBits);
    const int least = 1 - F::kBias;  // the exponent of subnormals
    const Wide significand = fraction | (field == 0 ? Bits{0} : Bits{1} << F::kFractionBits);
    const int exponent = field == 0 ? least : field - F::kBias;
    return normalised({is_negative(a), exponent - F::kFractionBits + F::kTop, significand});
  }
  /// Rounds once. The lowest bit may stand for all that was lost below it.
  static Bits pack(const Unpacked<F>& x) {
    const int least = 1 - F::kBias;
    const int lost = F::kTop - F::kFractionBits + (x.exponent < least ? least - x.exponent : 0);
    const Wide kept = lost > F::kTop + 1 ? 0 : x.significand >> lost;
    const Wide half = lost > F::kTop + 1 ? 0 : Wide{1} << (lost - 1);
    const Wide rest = x.significand - (lost > F::kTop + 1 ? 0 : kept << lost);
    const bool up = half != 0 && (rest > half || (rest == half && (kept & 1) != 0));
    const Bits magnitude = static_cast<Bits>(kept) + (up ? 1 : 0);
    const int field = x.exponent < least ? 0 : x.exponent + F::kBias - 1;  // a leading one adds 1
    if (field >= F::kExponentMax - 1) return signed_bits(x.negative, F::kInfinity);
    // A carry out of the fraction raises the exponent, up to infinity.
    return signed_bits(x.negative, magnitude + (static_cast<Bits>(field) << F::kFractionBits));
  }

 private:
  /// Zeros below an unpacked significand that came from bits.
  static constexpr int kSpare = F::kTop - F::kFractionBits;

  static constexpr Bits signed_bits(bool negative, Bits magnitude) {
    return magnitude | (negative ? F::kSign : 0);
  }
  /// The order of the real line with -0 below +0. Neither is NaN.
  static constexpr bool below(Bits a, Bits b) {
    if (is_negative(a) != is_negative(b)) return is_negative(a);
    return is_negative(a) ? a > b : a < b;
  }
  static int leading_zeros(std::uint64_t wide) { return std::countl_zero(wide); }
  static int leading_zeros(Wide128 wide) {
    const auto high = static_cast<std::uint64_t>(wide >> 64);
    return high != 0 ? std::countl_zero(high)
                     : 64 + std::countl_zero(static_cast<std::uint64_t>(wide));
  }
  /// Precondition: significand in [1, 2^(kTop + 1)).
  static Unpacked<F> normalised(Unpacked<F> x) {
    const int shift = leading_zeros(x.significand) - 1;
    x.significand <<= shift;
    x.exponent -= shift;
    return x;
  }
  static Unpacked<F> product_of(const Unpacked<F>& a, const Unpacked<F>& b, bool negative) {
    const Wide product = (a.significand >> kSpare) * (b.significand >> kSpare);
    return normalised(
        {negative, a.exponent + b.exponent - 2 * F::kFractionBits + F::kTop, product});
  }
  static Bits pack_sum(Unpacked<F> a, Unpacked<F> b) {
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) {
      const Unpacked<F> smaller = a;
      a = b;
      b = smaller;
    }
    // Where the exponents differ by more than 1 a difference loses one leading bit at most, so of
    // what is shifted out only matters whether there is any: the lowest bit says that. Where they
    // differ by less nothing is shifted out: 14 bits are spare.
    const int shift = a.exponent - b.exponent;
    Wide low = 1;
    if (shift <= F::kTop) {
      low = b.significand >> shift;
      if ((low << shift) != b.significand) low |= 1;
    }
    if (a.negative != b.negative) {
      if (a.significand == low) return 0;
      return pack(normalised({a.negative, a.exponent, a.significand - low}));
    }
    Wide sum = a.significand + low;
    if (sum >> (F::kTop + 1) != 0) {
      sum = sum >> 1 | (sum & 1);
      ++a.exponent;
    }
    return pack({a.negative, a.exponent, sum});
  }
};

using Soft32 = Soft<Binary32>;
using Soft64 = Soft<Binary64>;

/// binary32 as binary64, exact.
inline std::uint64_t widen(std::uint32_t a) {
  const std::uint64_t sign = static_cast<std::uint64_t>(a & Binary32::kSign) << 32;
  if (Soft32::is_nan(a)) return Binary64::kNan;
  if (Soft32::is_infinite(a)) return sign | Binary64::kInfinity;
  if (Soft32::is_zero(a)) return sign;
  const auto x = Soft32::unpack(a);
  return Soft64::pack({x.negative, x.exponent, static_cast<Wide128>(x.significand) << 64});
}
/// binary64 rounded to binary32.
inline std::uint32_t narrow(std::uint64_t a) {
  const auto sign = static_cast<std::uint32_t>(a >> 32) & Binary32::kSign;
  if (Soft64::is_nan(a)) return Binary32::kNan;
  if (Soft64::is_infinite(a)) return sign | Binary32::kInfinity;
  if (Soft64::is_zero(a)) return sign;
  const auto x = Soft64::unpack(a);
  return Soft32::pack({x.negative, x.exponent, static_cast<std::uint64_t>(x.significand >> 64)});
}

/// A format of 16 bits as binary32, exact.
template <class F>
std::uint32_t widen16(std::uint32_t a) {
  const std::uint32_t sign = (a & F::kSign) << 16;
  if (Soft<F>::is_nan(a)) return Binary32::kNan;
  if (Soft<F>::is_infinite(a)) return sign | Binary32::kInfinity;
  if (Soft<F>::is_zero(a)) return sign;
  const auto x = Soft<F>::unpack(a);
  return Soft32::pack({x.negative, x.exponent, x.significand});
}
/// binary32 rounded to a format of 16 bits.
template <class F>
std::uint32_t narrow16(std::uint32_t a) {
  const std::uint32_t sign = (a & Binary32::kSign) >> 16;
  if (Soft32::is_nan(a)) return F::kNan;
  if (Soft32::is_infinite(a)) return sign | F::kInfinity;
  if (Soft32::is_zero(a)) return sign;
  const auto x = Soft32::unpack(a);
  return Soft<F>::pack({x.negative, x.exponent, x.significand});
}

}  // namespace commensal::scalar
