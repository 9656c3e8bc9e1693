// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <commensal/compute/tensor/dtype.hpp>
#include <cstdint>

namespace commensal::tensor {

/// Exact for every value; a NaN becomes the canonical 0x7fc00000.
inline float to_float(Bfloat16 value) {
  const auto bits = static_cast<std::uint32_t>(value.bits) << 16;
  if ((bits & 0x7fffffffu) > 0x7f800000u) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(bits);
}
inline float to_float(Float16 value) {
  // Without a branch, so that compilers make vectors of it.
  const std::uint32_t exponent = (value.bits >> 10) & 31u, mantissa = value.bits & 1023u;
  const std::uint32_t high = exponent == 31 ? 224u : 112u;
  const std::uint32_t normal = (exponent + high) << 23 | mantissa << 13;
  const float small = static_cast<float>(static_cast<std::int32_t>(mantissa)) * 0x1p-24f;
  const std::uint32_t magnitude = exponent == 0 ? std::bit_cast<std::uint32_t>(small) : normal;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t bits = magnitude > 0x7f800000u ? 0x7fc00000u : sign | magnitude;
  return std::bit_cast<float>(bits);
}

/// Round to nearest even; overflow to infinity; NaN to 0x7fc0 / 0x7e00 without sign.
inline Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fc0};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
inline Float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  const std::uint32_t normal = (rounded >> 13) - (112u << 10);
  // Below the smallest normal, 2^-14: adding 0.5 rounds at the place 2^-24, to nearest even.
  const bool is_small = magnitude < 0x38800000u;
  const float shifted = std::bit_cast<float>(is_small ? magnitude : 0u) + 0.5f;
  std::uint32_t half = is_small ? std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;  // 65536 and above
  half |= sign;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return {static_cast<std::uint16_t>(half)};
}

}  // namespace commensal::tensor
