// SPDX-License-Identifier: Apache-2.0
// Det. Compiled once per instruction set, as cpu/lanes.cpp is: the elimination of ref/det.cpp,
// whose rows are updated a vector of them at a time.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/det.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <limits>
#include <utility>

#ifndef COMMENSAL_CPU_DET_TYPES
#define COMMENSAL_CPU_DET_TYPES
namespace commensal::kernels::cpu {

/// A matrix by columns, element (i, j) at m[j * step + i]. Rows that are done, and those behind the
/// last one, are NaN, and stay so.
template <class T>
struct Elimination {
  T* m = nullptr;
  std::int64_t side = 0, step = 0;  // step: in whole vectors
  T* factors = nullptr;             // `step` of them
};
template <class T>
struct EliminationKernels {
  int lanes = 0;
  /// Brings the pivot of column k to row k in that column, and makes the factors of the rows below.
  /// Returns the row it was in.
  std::int64_t (*begin)(const Elimination<T>&, std::int64_t k) = nullptr;
  /// Brings it there in columns [from, to), all behind k, and updates the rows below.
  void (*columns)(const Elimination<T>&, std::int64_t k, std::int64_t pivot, std::int64_t from,
                  std::int64_t to) = nullptr;
};

}  // namespace commensal::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// The first of the largest magnitude among rows k and on; none is above a NaN in row k, and a NaN
/// is above none.
template <class T>
HWY_INLINE std::int64_t pivot_of(const Elimination<T>& e, std::int64_t k) {
  const LanesOf<T> d;
  constexpr std::int64_t kOne = kLanesOf<T>;
  const T* const column = e.m + k * e.step;
  if (column[k] != column[k]) return k;
  auto most = hn::Set(d, T{-1});
  const std::int64_t first = k / kOne * kOne;
  for (std::int64_t i = first; i < e.step; i += kOne) {
    const auto size = hn::Abs(hn::LoadU(d, column + i));
    most = hn::IfThenElse(hn::Gt(size, most), size, most);
  }
  most = hn::MaxOfLanes(d, most);
  for (std::int64_t i = first; i < e.step; i += kOne) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(hn::Abs(hn::LoadU(d, column + i)), most));
    if (found >= 0) return i + found;
  }
  return k;
}

template <class T>
std::int64_t begin_elimination(const Elimination<T>& e, std::int64_t k) {
  const LanesOf<T> d;
  constexpr std::int64_t kOne = kLanesOf<T>;
  const std::int64_t pivot = pivot_of(e, k);
  T* const column = e.m + k * e.step;
  std::swap(column[k], column[pivot]);
  const auto by = hn::Set(d, column[k]), done = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t i = (k + 1) / kOne * kOne; i < e.step; i += kOne) {
    const auto factor = hn::Div(hn::LoadU(d, column + i), by);
    const auto rows_done = static_cast<std::size_t>(std::clamp<std::int64_t>(k + 1 - i, 0, kOne));
    hn::StoreU(hn::IfThenElse(hn::FirstN(d, rows_done), done, factor), d, e.factors + i);
  }
  return pivot;
}

template <int kColumns, class T>
HWY_INLINE void update(const Elimination<T>& e, std::int64_t k, std::int64_t from) {
  const LanesOf<T> d;
  constexpr std::int64_t kOne = kLanesOf<T>;
  T* const columns = e.m + from * e.step;
  VectorOf<T> row[kColumns];
  COMMENSAL_UNROLL
  for (int c = 0; c < kColumns; ++c) row[c] = hn::Set(d, columns[c * e.step + k]);
  for (std::int64_t i = (k + 1) / kOne * kOne; i < e.step; i += kOne) {
    const auto factor = hn::LoadU(d, e.factors + i);
    COMMENSAL_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      T* const at = columns + c * e.step + i;
      hn::StoreU(hn::NegMulAdd(factor, row[c], hn::LoadU(d, at)), d, at);
    }
  }
}
template <class T>
void eliminate_columns(const Elimination<T>& e, std::int64_t k, std::int64_t pivot,
                       std::int64_t from, std::int64_t to) {
  if (pivot != k) {
    for (std::int64_t j = from; j < to; ++j)
      std::swap(e.m[j * e.step + k], e.m[j * e.step + pivot]);
  }
  constexpr int kAtOnce = 4;
  for (; from + kAtOnce <= to; from += kAtOnce) update<kAtOnce>(e, k, from);
  for (; from < to; ++from) update<1>(e, k, from);
}

template <class T>
inline constexpr EliminationKernels<T> kEliminationKernels = {kLanesOf<T>, begin_elimination<T>,
                                                              eliminate_columns<T>};

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels::cpu {
namespace {

template <class T>
T determinant(Pulse& pulse, const EliminationKernels<T>& kernels, const Elimination<T>& e,
              const T* x) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  for (std::int64_t i = 0; i < e.side; ++i) {
    for (std::int64_t j = 0; j < e.side; ++j) e.m[j * e.step + i] = x[i * e.side + j];
    pulse(e.side);
  }
  for (std::int64_t j = 0; j < e.side; ++j) {
    std::fill(e.m + j * e.step + e.side, e.m + (j + 1) * e.step, kNan);
  }
  const std::int64_t columns_at_once = std::max<std::int64_t>((1 << 17) / e.step, 1);
  T det{1};
  for (std::int64_t k = 0; k < e.side; ++k) {
    const std::int64_t pivot = kernels.begin(e, k);
    const T value = e.m[k * e.step + k];
    det = (pivot == k ? det : -det) * value;
    if (value == T{0}) return T{0};
    for (std::int64_t from = k + 1; from < e.side; from += columns_at_once) {
      const std::int64_t to = std::min(e.side, from + columns_at_once);
      kernels.columns(e, k, pivot, from, to);
      pulse((to - from) * (e.step / kernels.lanes + 1));
    }
  }
  return det != det ? kNan : det;
}

template <class T>
core::Result<void> determinants(const EliminationKernels<T>& kernels, const Tensor& x, Tensor& y,
                                Workspace& ws) {
  const std::int64_t count = y.elements();
  if (count == 0) return {};
  const std::int64_t side = x.shape()[x.shape().rank() - 1];
  const std::int64_t step = ceil_div(side, kernels.lanes) * kernels.lanes;
  // It has elements, which bound its side.
  const std::int64_t of_one = side * side * (side / 3 + 4) + 16;
  const std::int64_t a_task = std::max<std::int64_t>(32768 / of_one, 1);
  constexpr std::int64_t kFloats = sizeof(T) / sizeof(float);
  const T* const from = x.data<T>().data();
  T* const to = y.mutable_data<T>().data();
  return run_with_scratch(ws, ceil_div(count, a_task), (side + 1) * step * kFloats,
                          [&](std::int64_t task, float* scratch) {
                            Pulse pulse(&ws.threads);
                            T* const m = reinterpret_cast<T*>(scratch);
                            const Elimination<T> e{m, side, step, m + side * step};
                            const std::int64_t end = std::min(count, (task + 1) * a_task);
                            for (std::int64_t i = task * a_task; i < end; ++i) {
                              to[i] = determinant(pulse, kernels, e, from + i * side * side);
                              pulse();
                            }
                          });
}

}  // namespace

core::Result<void> det(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const auto made = [&](const Call& own, std::span<Tensor> y,
                        Workspace& space) -> core::Result<bool> {
    if (own.in(0).dtype() == tensor::DType::kFloat64) {
      const auto& kernels = COMMENSAL_OF_ISA(space.isa, kEliminationKernels<double>);
      COMMENSAL_TRY(determinants(kernels, own.in(0), y[0], space));
    } else {
      const auto& kernels = COMMENSAL_OF_ISA(space.isa, kEliminationKernels<float>);
      COMMENSAL_TRY(determinants(kernels, own.in(0), y[0], space));
    }
    return true;
  };
  return serve(call, outputs, ws, ref::kDet, made);
}

}  // namespace commensal::kernels::cpu
#endif  // HWY_ONCE
