// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Sums and extremes over many elements, in the order of docs/numerics.md. Each can stop after a
/// number of steps, which is what the `partial` column of the table shows.
namespace commensal::kernels::ref {

inline constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();

/// a + b; integers wrap.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
}

/// A sum in 32 interleaved lanes: the element at position i is added to lane i mod 32, ascending;
/// then lane l takes lane l + h for h = 16, 8, 4, 2, 1. A lane begins at -0, the neutral element
/// of addition, so that an absent one changes nothing; +0 is added last, so that no sum is -0.
/// Steps: one for each element, then 31 of the tree.
template <class T>
class Sum {
 public:
  static constexpr int kLanes = 32, kTreeSteps = kLanes - 1;

  explicit Sum(std::int64_t steps = kAllSteps) : left_(steps) { lanes_.fill(-T{0}); }

  void add(std::int64_t position, T value) {
    if (left_ > 0) join(static_cast<std::size_t>(position % kLanes), value);
  }
  /// Call once, after all elements.
  T total() {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half && left_ > 0; ++lane) join(lane, lanes_[lane + half]);
    }
    return plus(lanes_[0], T{0});
  }
  T result() { return total(); }
  /// The result of the last step that was taken; +0 before the first.
  T last() const { return last_; }

 private:
  void join(std::size_t lane, T value) {
    last_ = lanes_[lane] = plus(lanes_[lane], value);
    --left_;
  }
  std::array<T, kLanes> lanes_;
  std::int64_t left_;
  T last_{0};
};

/// The order of extremes: NaN above (or below) all, +0 above -0; ties are equal bits.
template <class T>
bool above(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a && b == b;
    if (a == T{0} && b == T{0}) return !std::signbit(a) && std::signbit(b);
  }
  return b < a;
}
template <class T>
bool below(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a && b == b;
    if (a == T{0} && b == T{0}) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

/// A running maximum or minimum that knows the position of the first element that reached it.
/// Steps: one for each element.
template <class T, bool kMaximum>
class Extreme {
 public:
  explicit Extreme(std::int64_t steps = kAllSteps) : left_(steps) {}

  void add(std::int64_t position, T value) {
    if (left_ <= 0) return;
    --left_;
    const bool better = kMaximum ? above(value, value_) : below(value, value_);
    if (!better && position_ >= 0) return;
    value_ = value;
    position_ = position;
  }
  /// Of no elements: the value that any other replaces.
  T value() const { return value_; }
  T result() const { return value_; }
  std::int64_t position() const { return position_; }

 private:
  static constexpr T start() {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
      return kMaximum ? -Limits::infinity() : Limits::infinity();
    } else {
      return kMaximum ? Limits::lowest() : Limits::max();
    }
  }
  std::int64_t left_;
  T value_ = start();
  std::int64_t position_ = -1;
};

}  // namespace commensal::kernels::ref
