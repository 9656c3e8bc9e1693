// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::tensor {

float to_float(Float16 value) {
  const int exponent = (value.bits >> 10) & 31, mantissa = value.bits & 1023;
  if (exponent == 31 && mantissa != 0) return std::bit_cast<float>(0x7fc00000u);
  float magnitude;
  if (exponent == 31) {
    magnitude = std::bit_cast<float>(0x7f800000u);
  } else if (exponent == 0) {
    magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  } else {
    magnitude = std::bit_cast<float>(static_cast<std::uint32_t>((exponent + 112) << 23 |
                                                                mantissa << 13));
  }
  return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

Float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {0x7e00};
  std::uint32_t half;
  if (magnitude >= 0x47800000u) {  // 65536 and above
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below the smallest normal, 2^-14
    // Adding 0.5 rounds at the place 2^-24, to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
  } else {
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    half = (rounded >> 13) - (112u << 10);
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace commensal::tensor
