// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

/// Quantised numbers: code q stands for (q - zero_point) * scale.
namespace commensal::kernels::ref {

using Bytes = Types<std::uint8_t, std::int8_t>;
using Codes = Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::int32_t>;
/// Scales; int32 ones are rounded to binary32.
using Scales = Types<float, Float16, Bfloat16, std::int32_t, tensor::Small<DType::kFloat8E8M0>>;

/// The elements of a tensor of codes as integers: those of Codes, uint4 or int4.
class CodeView {
 public:
  explicit CodeView(const Tensor& tensor) : tensor_(tensor) {}
  std::int64_t operator[](std::int64_t i) const {
    if (tensor::is_four_bits(tensor_.dtype())) {
      const std::uint8_t bits = tensor_.bytes()[static_cast<std::size_t>(i)];
      return tensor_.dtype() == DType::kInt4 ? tensor::int4_value(bits) : std::int8_t(bits);
    }
    return visit(Codes{}, tensor_.dtype(), [&]<class T>() {
      return static_cast<std::int64_t>(tensor_.data<T>()[static_cast<std::size_t>(i)]);
    });
  }

 private:
  const Tensor& tensor_;
};

/// One code: input `input` at `index`, 0 where the input is absent.
inline std::int64_t code_at(const Call& call, int input, std::int64_t index) {
  return call.has(input) ? CodeView(call.in(input))[index] : 0;
}

/// An element of a tensor of scales, or of another of small floats, widened.
inline float real_at(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (tensor::is_small(tensor.dtype())) {
    return tensor::small_to_float(tensor.dtype(), tensor.bytes()[at]);
  }
  return visit(Types<float, Float16, Bfloat16, std::int32_t>{}, tensor.dtype(),
               [&]<class T>() { return static_cast<float>(load(tensor.data<T>()[at])); });
}

/// The code nearest to a real number that is already divided by the scale: to nearest even, then
/// the zero point, then saturated to low..high. NaN counts as 0.
inline std::int64_t code_between(float scaled, std::int64_t zero_point, std::int64_t low,
                                 std::int64_t high) {
  const auto nearest = convert<std::int32_t>(std::nearbyint(scaled));
  return std::clamp<std::int64_t>(std::int64_t{nearest} + zero_point, low, high);
}
template <class T>
T code_of(float scaled, std::int64_t zero_point) {
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(code_between(scaled, zero_point, Limits::min(), Limits::max()));
}

}  // namespace commensal::kernels::ref
