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
float to_float(Float16 value);

/// Round to nearest even; overflow to infinity; NaN to 0x7fc0 / 0x7e00 without sign.
inline Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fc0};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
Float16 to_float16(float value);

}  // namespace commensal::tensor
