// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/dtype.hpp>

/// The numbers that the formats of 8 and 4 bits stand for (OCP "8-bit floating point" and
/// "Microscaling formats", arXiv 2206.02915 for the FNUZ ones; docs/numerics.md).
namespace commensal::tensor {

inline bool is_four_bits(DType dtype) {
  return dtype == DType::kUint4 || dtype == DType::kInt4 || dtype == DType::kFloat4E2M1;
}
inline bool is_small(DType dtype) { return dtype >= DType::kFloat8E4M3Fn; }
/// The floating ones: all but uint4 and int4.
inline bool is_small_float(DType dtype) {
  return is_small(dtype) && dtype != DType::kUint4 && dtype != DType::kInt4;
}

/// How a number becomes float8e8m0, whose values are powers of two.
enum class PowerRounding { kUp, kDown, kNearest };

/// The number behind the bits of an element, exactly; NaN is the canonical one.
float small_to_float(DType dtype, std::uint8_t bits);

/// The bits of the nearest number of a floating format, ties to even. Where it is too large (after
/// rounding) or infinite: the largest one if `saturate`, else infinity, or NaN where the format has
/// none. float4e2m1 always saturates; it has no NaN and takes -0 for it. float8e8m0 is rounded as
/// `power` says; what is not positive is its smallest number (0, with `saturate`) or NaN.
std::uint8_t small_from_float(DType dtype, float value, bool saturate,
                              PowerRounding power = PowerRounding::kUp);

/// The low four bits.
inline std::uint8_t four_bits(std::int64_t value) { return static_cast<std::uint8_t>(value & 15); }
/// -8 to 7 from the bits of an int4.
inline std::int8_t int4_value(std::uint8_t bits) {
  return static_cast<std::int8_t>(bits < 8 ? bits : bits - 16);
}

template <DType kFormat>
float to_float(Small<kFormat> value) {
  return small_to_float(kFormat, value.bits);
}

}  // namespace commensal::tensor
