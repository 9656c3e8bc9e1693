// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/result.hpp>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace commensal::tensor {

/// Dimensions, outermost first; row-major. A dimension may be 0; rank 0 is a scalar.
/// Invariants: rank <= limits::kRankMax, every dimension >= 0, the number of elements is at most
/// limits::kTensorElementsMax. Only Shape::of, which checks them, takes values from outside.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  /// Error: kInvalidArgument.
  static core::Result<Shape> of(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::span<const std::int64_t> dims() const {
    return {dims_.data(), static_cast<std::size_t>(rank_)};
  }
  std::int64_t elements() const { return elements_; }
  /// Product of the dimensions in [first, last).
  std::int64_t elements(int first, int last) const;
  /// "[1,3,224,224]"
  std::string text() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.dims_ == b.dims_;
  }

 private:
  int rank_ = 0;
  std::int64_t elements_ = 1;
  std::array<std::int64_t, limits::kRankMax> dims_{};
};

/// Row-major strides in elements.
std::array<std::int64_t, limits::kRankMax> strides_of(const Shape& shape);

/// numpy's rule. Error: kInvalidArgument naming both shapes.
core::Result<Shape> broadcast(const Shape& a, const Shape& b);

/// -rank..rank-1 to 0..rank-1. Error: kInvalidArgument.
core::Result<int> normalise_axis(std::int64_t axis, int rank);

}  // namespace commensal::tensor
