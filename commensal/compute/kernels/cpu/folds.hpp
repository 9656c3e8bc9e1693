// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/operator.hpp>
#include <limits>

namespace commensal::kernels::cpu {

/// Folds of many elements into one, each over the elements of a row or over those of a column.
/// Sums are in 32 lanes, of which position p belongs to lane p mod 32; extremes have the order of
/// ref/fold.hpp. The results' NaNs are canonical.
enum class Fold { kSum, kSumOfMagnitudes, kSumOfSquares, kSumOfDeviations, kMaximum, kMinimum };
inline constexpr std::size_t kFolds = 6;

/// kSumOfDeviations: of (x - shift)^2. T is float or double.
template <class T>
struct FoldKernelOf {
  static constexpr int kLanes = 32;
  /// Adds `count` elements, a multiple of 32 but for the last ones, to what `lanes` (32 words)
  /// holds; `begin`: it holds nothing yet.
  void (*row)(const T* x, std::int64_t count, const T* shift, bool begin, T* lanes) = nullptr;
  T (*total)(const T* lanes) = nullptr;
  /// Both at once, for a row that nothing came before.
  T (*whole)(const T* x, std::int64_t count, const T* shift) = nullptr;
  /// y[i] of x[rows[p] + i] for p in [0, count), at least 1; shift[i] is that of column i.
  void (*columns)(const T* x, const std::int64_t* rows, std::int64_t count, const T* shift, T* y,
                  std::int64_t columns) = nullptr;
};
using FoldKernel = FoldKernelOf<float>;

/// Elements of a row that come before a bound, the largest (or the smallest) being the first. A
/// rank is a whole number in that order: the less, the sooner. None has the greatest of all, which
/// is the bound that everything comes before.
struct Ahead {
  static constexpr std::int64_t kRoomMax = 512, kSlack = 64;
  std::int32_t bound = std::numeric_limits<std::int32_t>::max();
  std::int64_t room = kRoomMax;  // what stops there may have gone kSlack further
  std::int64_t count = 0;
  std::array<std::int32_t, kRoomMax + kSlack> ranks, where;
};

template <class T>
struct FoldKernelsOf {
  std::array<FoldKernelOf<T>, kFolds> folds{};  // by Fold
  /// The first of `count` elements with the bits of `value` (any NaN for NaN); count if none has.
  std::int64_t (*find)(const T* x, std::int64_t count, T value) = nullptr;
  /// Position of the first largest (smallest) of each column: where[i] of x[rows[p] + i].
  using PlacesFn = void (*)(const T* x, const std::int64_t* rows, std::int64_t count,
                            std::int64_t* where, std::int64_t columns);
  PlacesFn where_largest = nullptr, where_smallest = nullptr;
  /// Adds to `to` what comes before the bound of x[at], x[at + 1], ... x[end - 1]; returns where it
  /// stopped for want of room, or `end`. Of floats alone.
  using AheadFn = std::int64_t (*)(const float* x, std::int64_t at, std::int64_t end, Ahead& to);
  AheadFn ahead_of_largest = nullptr, ahead_of_smallest = nullptr;

  const FoldKernelOf<T>& of(Fold fold) const { return folds[static_cast<std::size_t>(fold)]; }
};
using FoldKernels = FoldKernelsOf<float>;

template <class T = float>
const FoldKernelsOf<T>& fold_kernels_for(Isa isa);

}  // namespace commensal::kernels::cpu
