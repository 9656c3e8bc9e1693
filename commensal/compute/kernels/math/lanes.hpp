// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// The thin layer between the functions of math/*_inl.hpp and what runs them. Those files are
/// templates over a "lanes" type L, included once per instruction set (see all_inl.hpp), so that
/// plain C++, Highway and CUDA run the same operations in the same order. L supplies, as static
/// functions of one or more lanes at a time:
///   V, I, M                 binary32 values, 32-bit signed integers, masks
///   set(float), set_int(int32)
///   add, sub, mul, div, sqrt   correctly rounded, never fused
///   mul_add(a, b, c)        a * b + c, rounded once
///   neg, abs                change the sign bit only
///   less(a, b), equal(a, b), is_nan(a)   M; false for NaN but is_nan
///   both, either, negate    on masks
///   select(m, yes, no)      by lane, bits unchanged
///   to_int(V)               to nearest, ties to even; unspecified (no trap) outside int32
///   to_float(I)             correctly rounded
///   bits(V), from_bits(I)   reinterpret
///   add_int, sub_int, and_int, shift_left<n>, shift_right<n> (arithmetic)
///   less_int(a, b)          M
namespace commensal::kernels::math {

/// One lane, in plain C++: what ref/ runs.
struct ScalarLanes {
  using V = float;
  using I = std::int32_t;
  using M = bool;

  static V set(float x) { return x; }
  static I set_int(std::int32_t i) { return i; }
  static V add(V a, V b) { return a + b; }
  static V sub(V a, V b) { return a - b; }
  static V mul(V a, V b) { return a * b; }
  static V div(V a, V b) { return a / b; }
  static V sqrt(V a) { return std::sqrt(a); }
  static V mul_add(V a, V b, V c) { return std::fma(a, b, c); }
  static V neg(V a) { return from_bits(bits(a) ^ INT32_MIN); }
  static V abs(V a) { return from_bits(bits(a) & INT32_MAX); }
  static M less(V a, V b) { return a < b; }
  static M equal(V a, V b) { return a == b; }
  static M is_nan(V a) { return a != a; }
  static M both(M a, M b) { return a && b; }
  static M either(M a, M b) { return a || b; }
  static M negate(M a) { return !a; }
  static V select(M m, V yes, V no) { return m ? yes : no; }
  static I to_int(V a) {
    return a >= -0x1p31f && a < 0x1p31f ? static_cast<I>(std::nearbyint(a)) : INT32_MIN;
  }
  static V to_float(I a) { return static_cast<float>(a); }
  static I bits(V a) { return std::bit_cast<std::int32_t>(a); }
  static V from_bits(I a) { return std::bit_cast<float>(a); }
  static I add_int(I a, I b) { return wrap(unsigned_of(a) + unsigned_of(b)); }
  static I sub_int(I a, I b) { return wrap(unsigned_of(a) - unsigned_of(b)); }
  static I and_int(I a, I b) { return a & b; }
  template <int n>
  static I shift_left(I a) {
    return wrap(unsigned_of(a) << n);
  }
  template <int n>
  static I shift_right(I a) {
    return a >> n;
  }
  static M less_int(I a, I b) { return a < b; }

 private:
  static std::uint32_t unsigned_of(I a) { return static_cast<std::uint32_t>(a); }
  static I wrap(std::uint32_t a) { return static_cast<I>(a); }
};

}  // namespace commensal::kernels::math
