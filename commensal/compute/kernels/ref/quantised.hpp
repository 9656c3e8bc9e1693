// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/infer/checks.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/value.hpp>

/// Quantised numbers: code q stands for (q - zero_point) * scale.
namespace commensal::kernels::ref {

using Bytes = Types<std::uint8_t, std::int8_t>;
using Codes = Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::int32_t>;

/// The elements of a tensor of codes as integers.
class CodeView {
 public:
  explicit CodeView(const Tensor& tensor) : tensor_(tensor) {}
  std::int64_t operator[](std::int64_t i) const {
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

/// An element of a tensor of floats, widened.
inline float real_at(const Tensor& tensor, std::int64_t index) {
  return visit(Floats32{}, tensor.dtype(),
               [&]<class T>() { return load(tensor.data<T>()[static_cast<std::size_t>(index)]); });
}

/// The code nearest to a real number that is already divided by the scale: to nearest even, then
/// the zero point, then saturated. NaN counts as 0.
template <class T>
T code_of(float scaled, std::int64_t zero_point) {
  const auto nearest = convert<std::int32_t>(std::nearbyint(scaled));
  const std::int64_t shifted = std::int64_t{nearest} + zero_point;
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(std::clamp<std::int64_t>(shifted, Limits::min(), Limits::max()));
}

}  // namespace commensal::kernels::ref
