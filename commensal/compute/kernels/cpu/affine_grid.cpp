// SPDX-License-Identifier: Apache-2.0
// AffineGrid. Compiled once per instruction set, as lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/affine_grid.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/affine_row.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// One output axis of a vector of places: the last axis first, then the others, then the offset.
template <class C, int kAxes>
HWY_INLINE auto affine_axis(const AffineRow<C>& row, int axis, std::int64_t p) {
  const hn::ScalableTag<C> d;
  const C* const theta = row.theta + axis * (kAxes + 1);
  auto acc = hn::MulAdd(hn::Set(d, theta[0]), hn::LoadU(d, row.across + p), hn::Zero(d));
  for (int k = 1; k < kAxes; ++k) {
    acc = hn::MulAdd(hn::Set(d, theta[k]), hn::Set(d, row.others[k - 1]), acc);
  }
  acc = hn::MulAdd(hn::Set(d, theta[kAxes]), hn::Set(d, C{1}), acc);
  return hn::Add(acc, hn::Zero(d));
}

template <class C, int kAxes>
void affine_row(const AffineRow<C>& row) {
  const hn::ScalableTag<C> d;
  constexpr std::int64_t kCount = HWY_MAX_BYTES / sizeof(C);
  HWY_ALIGN C rest[kAxes * kCount];
  for (std::int64_t p = 0; p < row.count; p += kCount) {
    const bool is_whole = p + kCount <= row.count;
    C* const to = is_whole ? row.y + p * kAxes : rest;
    const auto x = affine_axis<C, kAxes>(row, 0, p), y = affine_axis<C, kAxes>(row, 1, p);
    if constexpr (kAxes == 2) {
      hn::StoreInterleaved2(x, y, d, to);
    } else {
      hn::StoreInterleaved3(x, y, affine_axis<C, kAxes>(row, 2, p), d, to);
    }
    if (!is_whole) std::copy_n(rest, (row.count - p) * kAxes, row.y + p * kAxes);
  }
}

template <class C>
void affine_row_of(const AffineRow<C>& row, int axes) {
  return axes == 2 ? affine_row<C, 2>(row) : affine_row<C, 3>(row);
}

const AffineRowKernels& affine_row_kernels() {
  static constexpr AffineRowKernels kKernels = {affine_row_of<float>, affine_row_of<double>};
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/sampling.hpp>

namespace commensal::kernels::cpu {

namespace {

const AffineRowKernels& affine_row_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, affine_row_kernels());
}

/// Rows of places along the last axis, which is why its places are listed.
template <class T>
void affine_rows(const Call& call, bool align_corners, Tensor& output, Workspace& ws) {
  using C = ref::Compute<T>;
  const tensor::Shape& to = output.shape();
  const int axes = to.rank() - 2;
  const std::int64_t width = to[axes], rows = to.elements(0, axes), in_row = width * axes;
  const ref::Widened<T> theta(call, 0);
  constexpr std::int64_t kBeyond = 16;  // what lanes read
  constexpr std::int64_t kPart = 1024;  // places at a time
  std::vector<C> across;
  for (std::int64_t i = 0; i < width + kBeyond; ++i) {
    call.pulse();
    across.push_back(ref::grid_place<C>(i, width, align_corners));
  }
  const AffineRowKernels& kernels = affine_row_kernels_for(ws.isa);
  T* const y = output.mutable_data<T>().data();
  const std::int64_t a_task = std::max<std::int64_t>(16384 / in_row, 1);
  ws.threads.run(ceil_div(rows, a_task), [&](std::int64_t task) {
    Pulse pulse(&ws.threads);
    std::array<C, static_cast<std::size_t>(kPart * 3)> made;
    for (std::int64_t r = task * a_task; r < std::min(rows, (task + 1) * a_task); ++r) {
      AffineRow<C> row;
      std::int64_t rest = r;
      for (int k = 1; k < axes; ++k) {
        const std::int64_t dim = to[axes - k];
        row.others[k - 1] = ref::grid_place<C>(rest % dim, dim, align_corners);
        rest /= dim;
      }
      row.theta = theta.data() + rest * axes * (axes + 1);
      for (std::int64_t from = 0; from < width; from += kPart) {
        row.across = across.data() + from;
        row.count = std::min(kPart, width - from);
        T* const part = y + r * in_row + from * axes;
        if constexpr (std::is_same_v<T, C>) {
          row.y = part;
        } else {
          row.y = made.data();
        }
        if constexpr (std::is_same_v<C, float>) {
          kernels.floats(row, axes);
        } else {
          kernels.doubles(row, axes);
        }
        for (std::int64_t i = 0; i < row.count * axes; ++i) part[i] = ref::store<T>(row.y[i]);
        pulse(row.count * axes);
      }
    }
  });
}

}  // namespace

core::Result<void> affine_grid(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const std::int64_t align, call.attributes->integer("align_corners", 0));
  if (outputs[0].elements() == 0) return {};
  constexpr std::int64_t kListedMax = 1 << 22;  // places along the last axis, beside the arena
  const tensor::Shape& to = outputs[0].shape();
  if (to[to.rank() - 2] > kListedMax) return ref::kAffineGrid.best()(call, outputs, ws);
  visit(ref::Floats{}, outputs[0].dtype(),
        [&]<class T>() { affine_rows<T>(call, align != 0, outputs[0], ws); });
  return {};
}

}  // namespace commensal::kernels::cpu
#endif  // HWY_ONCE
