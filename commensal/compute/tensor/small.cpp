// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/tensor/small.hpp>
#include <limits>

namespace commensal::tensor {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kNone = -1;

// Sign, exponent, mantissa. `most` is the code of the largest finite number; `infinity` and `nan`
// are codes, kNone where the format has none.
struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits, bias, most, infinity, nan;
  int magnitude_bits() const { return exponent_bits + mantissa_bits; }
  // FNUZ: the code of -0 is the only NaN.
  bool has_negative_zero() const { return nan != 1 << magnitude_bits(); }
};
constexpr Format kFormats[] = {
    {DType::kFloat8E4M3Fn, 4, 3, 7, 0x7e, kNone, 0x7f},
    {DType::kFloat8E4M3FnUz, 4, 3, 8, 0x7f, kNone, 0x80},
    {DType::kFloat8E5M2, 5, 2, 15, 0x7b, 0x7c, 0x7e},
    {DType::kFloat8E5M2FnUz, 5, 2, 16, 0x7f, kNone, 0x80},
    {DType::kFloat4E2M1, 2, 1, 1, 0x7, kNone, kNone},
};

const Format& format_of(DType dtype) {
  const auto* const found = std::ranges::find(kFormats, dtype, &Format::dtype);
  core::check(found != std::end(kFormats), "a floating format of at most 8 bits");
  return *found;
}

constexpr int kPowerBias = 127;
constexpr std::uint8_t kPowerNan = 0xff, kPowerMost = 0xfe;

std::uint8_t power_from_float(float value, bool saturate, PowerRounding rounding) {
  if (value != value) return kPowerNan;
  const float least = std::ldexp(1.0f, -kPowerBias), most = std::ldexp(1.0f, kPowerBias);
  if (value < least) return saturate && value >= 0 ? 0 : kPowerNan;
  if (value > most) return saturate ? kPowerMost : kPowerNan;
  const int exponent = std::ilogb(value);
  const float power = std::ldexp(1.0f, exponent);
  const bool up = rounding == PowerRounding::kUp        ? value > power
                  : rounding == PowerRounding::kNearest ? value - power >= power / 2
                                                        : false;
  return static_cast<std::uint8_t>(exponent + kPowerBias + (up ? 1 : 0));
}

}  // namespace

float small_to_float(DType dtype, std::uint8_t bits) {
  if (dtype == DType::kUint4) return bits;
  if (dtype == DType::kInt4) return int4_value(bits);
  if (dtype == DType::kFloat8E8M0) {
    return bits == kPowerNan ? kNan : std::ldexp(1.0f, bits - kPowerBias);
  }
  const Format& format = format_of(dtype);
  const int magnitude = bits & ((1 << format.magnitude_bits()) - 1);
  const bool negative = magnitude != bits;
  if (bits == format.nan || (format.has_negative_zero() && magnitude > format.most)) {
    if (magnitude != format.infinity) return kNan;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return negative ? -kInfinity : kInfinity;
  }
  const int exponent = magnitude >> format.mantissa_bits;
  const int hidden = exponent > 0 ? 1 << format.mantissa_bits : 0;
  const int mantissa = (magnitude & ((1 << format.mantissa_bits) - 1)) + hidden;
  const int place = std::max(exponent, 1) - format.bias - format.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(mantissa), place);
  return negative ? -value : value;
}

std::uint8_t small_from_float(DType dtype, float value, bool saturate, PowerRounding power) {
  if (dtype == DType::kFloat8E8M0) return power_from_float(value, saturate, power);
  const Format& format = format_of(dtype);
  const int sign = std::signbit(value) ? 1 << format.magnitude_bits() : 0;
  if (value != value) {
    return static_cast<std::uint8_t>(format.nan == kNone ? 1 << format.magnitude_bits()
                                                         : format.nan);
  }
  int code = format.most + 1;
  if (!std::isinf(value)) {
    const double magnitude = std::abs(static_cast<double>(value));
    const int least = 1 - format.bias;
    const int exponent = value == 0 ? least : std::max(std::ilogb(magnitude), least);
    // In units of the last place: below 2^(mantissa_bits + 1), so exact before it is rounded.
    const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
    const int above = std::min(exponent - least, 1 << format.exponent_bits);
    code = (above << format.mantissa_bits) + static_cast<int>(units);
  }
  if (code > format.most) {
    if (saturate || format.nan == kNone) {
      code = format.most;
    } else if (format.infinity == kNone) {
      return static_cast<std::uint8_t>(format.nan);
    } else {
      code = format.infinity;
    }
  }
  if (code == 0 && !format.has_negative_zero()) return 0;
  return static_cast<std::uint8_t>(sign | code);
}

}  // namespace commensal::tensor
