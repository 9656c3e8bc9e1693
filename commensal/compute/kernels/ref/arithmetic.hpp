// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Arithmetic that is defined for every input: integers wrap, x / 0 is 0, floats to integers
/// saturate.
namespace commensal::kernels::ref {

template <class T>
T minus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a - b;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  }
}

template <class T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    // In 64 bits: the product of two unsigned 16-bit numbers would overflow int.
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
}

/// Integers: towards zero; x / 0 is 0; the lowest number divided by -1 is itself.
template <class T>
T divided_by(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return minus(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
}

/// The remainder of the division towards zero (fmod): the sign of a. Integers: x mod 0 is 0.
template <class T>
T remainder_like_dividend(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);  // exact by definition
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
}

/// The remainder with the sign of b (Python's %). Integers only.
template <class T>
T remainder_like_divisor(T a, T b) {
  const T r = remainder_like_dividend(a, b);
  return r != 0 && (r < 0) != (b < 0) ? plus(r, b) : r;
}

/// Conversion of one number: to bool "is not zero" (NaN is true), float to integer towards zero
/// and saturating (NaN is 0), integer to integer modulo 2^bits, else round to nearest even.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    // 2^digits is the first value above the range, exact in every float type. All is selected, not
    // branched to: compilers make vectors of it.
    constexpr From kEnd = From{2} * static_cast<From>(std::uint64_t{1} << (Limits::digits - 1));
    constexpr From kFirst = std::is_signed_v<To> ? -kEnd : From{0};
    const bool above = x >= kEnd;
    From inside = x > kFirst ? x : kFirst;  // NaN: kFirst
    inside = above ? kFirst : inside;
    inside = x != x ? From{0} : inside;
    if constexpr (sizeof(To) < sizeof(std::int32_t)) {
      const auto whole = static_cast<std::int32_t>(inside);
      return static_cast<To>(above ? Limits::max() : whole);
    } else {
      const To whole = static_cast<To>(inside);
      return above ? Limits::max() : whole;
    }
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace commensal::kernels::ref
