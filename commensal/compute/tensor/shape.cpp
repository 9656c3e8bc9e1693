// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/tensor/shape.hpp>

#include <fmt/ranges.h>

namespace commensal::tensor {

using core::ErrorCode;
using core::fail;

Shape::Shape(std::initializer_list<std::int64_t> dims) {
  auto made = of({dims.begin(), dims.size()});
  core::check(made.has_value(), "a literal shape is valid");
  *this = *made;
}

core::Result<Shape> Shape::of(std::span<const std::int64_t> dims) {
  if (dims.size() > static_cast<std::size_t>(limits::kRankMax)) {
    return fail(ErrorCode::kInvalidArgument, "rank {} is above the limit of {}", dims.size(),
                limits::kRankMax);
  }
  Shape shape;
  shape.rank_ = static_cast<int>(dims.size());
  std::int64_t nonzero = 1;
  bool empty = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      return fail(ErrorCode::kInvalidArgument, "dimension {} is negative ({})", i, dims[i]);
    }
    shape.dims_[i] = dims[i];
    empty = empty || dims[i] == 0;
    const bool overflows =
        __builtin_mul_overflow(nonzero, std::max<std::int64_t>(dims[i], 1), &nonzero);
    if (overflows || nonzero > limits::kTensorElementsMax) {
      return fail(ErrorCode::kInvalidArgument, "a shape of more than {} elements",
                  limits::kTensorElementsMax);
    }
  }
  shape.elements_ = empty ? 0 : nonzero;
  return shape;
}

std::int64_t Shape::elements(int first, int last) const {
  std::int64_t product = 1;
  for (int axis = first; axis < last; ++axis) product *= (*this)[axis];
  return product;
}

std::string Shape::text() const { return fmt::format("[{}]", fmt::join(dims(), ",")); }

std::array<std::int64_t, limits::kRankMax> strides_of(const Shape& shape) {
  std::array<std::int64_t, limits::kRankMax> strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

core::Result<Shape> broadcast(const Shape& a, const Shape& b) {
  if (a == b || b.rank() == 0) return a;
  if (a.rank() == 0) return b;
  std::array<std::int64_t, limits::kRankMax> dims{};
  const int rank = std::max(a.rank(), b.rank());
  for (int i = 0; i < rank; ++i) {
    const int at_a = a.rank() - rank + i, at_b = b.rank() - rank + i;
    const std::int64_t from_a = at_a < 0 ? 1 : a[at_a], from_b = at_b < 0 ? 1 : b[at_b];
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return fail(ErrorCode::kInvalidArgument, "shapes {} and {} do not broadcast", a.text(),
                  b.text());
    }
    dims[static_cast<std::size_t>(i)] = from_a == 1 ? from_b : from_a;
  }
  return Shape::of({dims.data(), static_cast<std::size_t>(rank)});
}

core::Result<int> normalise_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return fail(ErrorCode::kInvalidArgument, "axis {} is outside [{}, {}]", axis, -rank, rank - 1);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace commensal::tensor
