// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/scalar/soft.hpp>
#include <span>

/// What the functions of binary32 are made of. Inside this room only; numbers are bits.
namespace commensal::scalar {

using S = Soft32;

inline constexpr std::uint32_t kNan = Binary32::kNan, kInfinity = Binary32::kInfinity;
inline constexpr std::uint32_t kOne = 0x3f800000, kTwo = 0x40000000, kHalf = 0x3f000000;
inline constexpr std::uint32_t kLog2 = 0x3f317218, kLog2Rest = 0xb102e308;  // in two parts

/// coefficients[0] x^n + ... + coefficients[n] by Horner's rule, each step one fma.
inline std::uint32_t polynomial(std::uint32_t x, std::span<const std::uint32_t> coefficients) {
  std::uint32_t sum = coefficients[0];
  for (const std::uint32_t next : coefficients.subspan(1)) sum = S::fma(sum, x, next);
  return sum;
}

/// The nearest integer, ties to even. Precondition: |x| < 2^30.
inline std::int32_t nearest(std::uint32_t x) {
  const std::uint32_t whole = S::round(x, S::Towards::kNearestEven);
  if (S::is_zero(whole)) return 0;
  const auto parts = S::unpack(whole);
  const auto magnitude =
      static_cast<std::int32_t>(parts.significand >> (Binary32::kTop - parts.exponent));
  return parts.negative ? -magnitude : magnitude;
}

/// 2^n for n in [-126, 127].
inline std::uint32_t power_of_2(std::int32_t n) {
  return static_cast<std::uint32_t>(n + 127) << 23;
}

inline std::uint32_t with_sign_of(std::uint32_t x, std::uint32_t magnitude) {
  return S::is_negative(x) ? magnitude ^ Binary32::kSign : magnitude;
}

/// high + low, low at most about half an ulp of high.
struct Pair {
  std::uint32_t high = 0, low = 0;
};
/// a + b exactly (Knuth).
inline Pair exact_sum(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sum = S::add(a, b), part = S::sub(sum, a);
  return {sum, S::add(S::sub(a, S::sub(sum, part)), S::sub(b, part))};
}

/// exp(x + rest), |rest| at most about an ulp of x.
std::uint32_t exp_sum(std::uint32_t x, std::uint32_t rest);

}  // namespace commensal::scalar
