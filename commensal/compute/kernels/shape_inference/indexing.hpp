// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <commensal/compute/tensor/shape.hpp>

/// Row-major positions and coordinates.
namespace commensal::kernels::shape_inference {

/// Position -> coordinates.
inline Dims split(const tensor::Shape& shape, std::int64_t position) {
  Dims at{};
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[static_cast<std::size_t>(d)] = position % shape[d];
    position /= shape[d];
  }
  return at;
}

/// Coordinates -> position.
inline std::int64_t join(const tensor::Shape& shape, const Dims& at) {
  std::int64_t position = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    position = position * shape[d] + at[static_cast<std::size_t>(d)];
  }
  return position;
}

/// A shape cut at one axis: position = (outer * length + along) * inner_size + inner.
struct AxisView {
  std::int64_t length = 1, inner_size = 1;

  AxisView() = default;
  AxisView(const tensor::Shape& shape, int axis)
      : length(shape[axis]), inner_size(shape.elements(axis + 1, shape.rank())) {}
  std::int64_t outer(std::int64_t position) const { return position / inner_size / length; }
  std::int64_t along(std::int64_t position) const { return position / inner_size % length; }
  std::int64_t inner(std::int64_t position) const { return position % inner_size; }
  std::int64_t position(std::int64_t outer, std::int64_t along, std::int64_t inner) const {
    return (outer * length + along) * inner_size + inner;
  }
};

/// The shape with one dimension replaced.
core::Result<tensor::Shape> with_dim(const tensor::Shape& shape, int axis, std::int64_t dim);

}  // namespace commensal::kernels::shape_inference
