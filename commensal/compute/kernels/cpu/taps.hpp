// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <functional>
#include <vector>

/// Sliding windows of convolutions and pools: where their taps read.
namespace commensal::kernels::cpu {

/// A window over the last two of its spatial dimensions, or over one as two.
struct Geometry {
  std::int64_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  static Geometry of(const shape_inference::Window& window);
};

/// Whether a tap of some output may read outside.
bool reads_outside(const shape_inference::Window& window);

/// Planes in scratch memory, padded and split by columns (see PlaneSplit): there, tap t of output
/// (y, x) of slice z is at slice(z) + offsets[t] + y * row_step + x. Slices are what the dimensions
/// before the last two hold: one of pictures.
struct TapLayout {
  Geometry geometry;
  shape_inference::Window window;
  PlaneSplit split;  // of a slice: all but `plane`, `to` and `around`
  std::vector<std::int64_t> offsets;
  std::int64_t row_step = 0;

  /// Whether such a copy is not much larger than the plane.
  static bool suits(const shape_inference::Window& window);
  /// Of one or two dimensions.
  static bool suits_picture(const shape_inference::Window& window) {
    return window.rank <= 2 && suits(window);
  }
  explicit TapLayout(const shape_inference::Window& window);

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(sizeof *this + offsets.size() * sizeof(std::int64_t));
  }
  /// One tap, on the plane as it lies in memory.
  bool is_pointwise() const;
  std::int64_t plane_floats() const;
  std::int64_t out_slices() const;
  std::int64_t slice(std::int64_t z) const;
  /// Calls f(from, to, inside) for every slice: `from` of an input plane, `to` of its copy, both in
  /// elements; not `inside`: all of it lies around the plane. Others may run between slices.
  template <class F>
  void each_slice(Pulse& pulse, const F& f) const;
  void fill(Pulse& pulse, const CpuKernels& kernels, const float* plane, float around,
            float* to) const;
  /// Slice 0 of a plane.
  TapPlane plane(const float* in, float* out) const;

 private:
  int leading() const { return std::max(window.rank - 2, 0); }
  std::int64_t slice_floats() const { return split.parts * split.rows * split.width; }
  shape_inference::Dims slices_{};  // of the leading dimensions, padded
};

template <class F>
void TapLayout::each_slice(Pulse& pulse, const F& f) const {
  constexpr std::int64_t kFloatsAStep = 8, kSliceSteps = 8;
  const std::int64_t slices = plane_floats() / slice_floats();
  for (std::int64_t i = 0; i < slices; ++i) {
    bool inside = true;
    std::int64_t from = 0, rest = i, step = 1;
    for (auto d = static_cast<std::size_t>(leading()); d-- > 0;) {
      const std::int64_t place = rest % slices_[d] - window.pad_begin[d];
      inside = inside && place >= 0 && place < window.in[d];
      from += place * step;
      step *= window.in[d];
      rest /= slices_[d];
    }
    pulse(kSliceSteps + slice_floats() / kFloatsAStep);
    f(inside ? from * split.in_height * split.in_width : 0, i * slice_floats(), inside);
  }
}

/// Planes side by side, padded with +0 and split, readable to a vector beyond, in `room`. Error:
/// kResourceExhausted.
core::Result<float*> split_planes(const TapLayout& layout, const float* x, std::int64_t planes,
                                  Workspace& ws, Room& room);

/// Calls fold(piece, y, x) for all of a slice, in pieces between which others may run: some rows,
/// or a part of one, from output (y, x) on.
void fold_pieces(Pulse& pulse, const TapPlane& whole,
                 const std::function<void(const TapPlane&, std::int64_t, std::int64_t)>& fold);

/// All slices of a plane; `plane` is of slice 0.
void fold_taps(Pulse& pulse, const TapLayout& layout, const TapPlane& plane,
               void (*fold)(const TapPlane&));

/// The right matrix of a convolution as a product, gathered block by block: row
/// (tap * channels + c), column = output pixel.
class TapColumns final : public ColumnSource {
 public:
  /// `planes`: the `channels` split planes of one image and group, readable to a vector beyond.
  TapColumns(const CpuKernels& kernels, const TapLayout& layout, const float* planes,
             std::int64_t channels)
      : kernels_(&kernels), layout_(&layout), planes_(planes), channels_(channels) {}
  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override;

 private:
  const CpuKernels* kernels_;
  const TapLayout* layout_;
  const float* planes_;
  std::int64_t channels_;
};

}  // namespace commensal::kernels::cpu
