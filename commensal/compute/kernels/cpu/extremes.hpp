// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <limits>
#include <type_traits>

namespace commensal::kernels::cpu {

/// y[i] = the larger or the smaller of a[i * a_step] and b[i * b_step], elements of one type; the
/// steps are 0 or 1, y may be a or b.
using ExtremeFn = void (*)(const void* a, int a_step, const void* b, int b_step, void* y,
                           std::int64_t count);
/// Of integers and of doubles; null: of none other.
ExtremeFn larger_for(Isa isa, tensor::DType dtype);
ExtremeFn smaller_for(Isa isa, tensor::DType dtype);
/// Clip by these, between bounds that are inputs; false: there are only plain loops.
bool clip_between(const Call& call, Tensor& output, Workspace& ws);

template <class T>
using OrderKey = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Lines of windows over a plane, T float or double. Keys are whole numbers in the order of maxima.
template <class T>
struct WindowLines {
  /// Read behind the last row of keys, and read and written behind a line's.
  static constexpr std::int64_t kSlack = 64;
  const T* x = nullptr;                // the plane, or else
  const OrderKey<T>* keyed = nullptr;  // its keys
  std::int64_t row_step = 0;           // from one of its rows to the next
  /// Windows of line i are over rows[ends[i]], ..., rows[ends[i + 1] - 1].
  const std::int64_t *rows = nullptr, *ends = nullptr;
  std::int64_t lines = 0;
  std::int64_t before = 0, width = 0;  // columns outside, then those of a row
  std::int64_t stride = 1, taps = 1, dilation = 1;
  OrderKey<T>* keys = nullptr;  // scratch: for all columns
  std::int64_t reach = 0;       // all columns
  T* y = nullptr;
  std::int64_t y_step = 0, columns = 0;
};
/// The largest number of each window; of none: -infinity.
template <class T>
struct WindowKernels {
  void (*keys)(const T* x, OrderKey<T>* keys, std::int64_t count) = nullptr;
  void (*maxima)(const WindowLines<T>&) = nullptr;
  /// The halves of it, for parts of a line: the keys of line 0's columns, -infinity's behind them;
  /// and outputs out of such keys.
  void (*rows)(const WindowLines<T>&) = nullptr;
  void (*columns)(const WindowLines<T>&) = nullptr;
};
template <class T>
const WindowKernels<T>& window_kernels_for(Isa isa);

/// A row of windows over the keys of doubles: tap t of output i is at keys[offsets[t] + i],
/// readable to a vector beyond, and stands for the place positions[t] + start + i * step, modulo
/// 2^32.
struct PlacedWindows {
  /// Of no number, not even -infinity.
  static constexpr std::int64_t kNoKey = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kSlack = 8;  // a vector
  const std::int64_t* keys = nullptr;
  const std::int64_t* offsets = nullptr;
  const std::uint32_t* positions = nullptr;
  int taps = 0;
  std::uint32_t start = 0, step = 0;
  std::int64_t base = 0;  // added to each place
  std::int64_t count = 0;
  double* y = nullptr;
  std::int64_t* places = nullptr;
};
/// The largest number of each window and the place of the first that is it; of none: -infinity, -1.
void placed_maxima(Isa isa, const PlacedWindows& row);

}  // namespace commensal::kernels::cpu
