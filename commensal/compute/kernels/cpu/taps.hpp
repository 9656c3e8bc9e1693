// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <vector>

/// Sliding windows of convolutions and pools: where their taps read.
namespace commensal::kernels::cpu {

/// A window over one or two spatial dimensions, as two.
struct Geometry {
  std::int64_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  static Geometry of(const shape_inference::Window& window);
  bool padded() const;
  /// One tap, on the picture as it lies in memory.
  bool is_pointwise() const;
};

/// Planes in scratch memory, padded and split by columns (see PlaneSplit): there, tap t of output
/// (y, x) is at offsets[t] + y * row_step + x.
struct TapLayout {
  Geometry geometry;
  PlaneSplit split;  // all but `plane`, `to` and `around`
  std::vector<std::int64_t> offsets;
  std::int64_t row_step = 0;

  /// Whether such a copy is not much larger than the plane.
  static bool suits(const shape_inference::Window& window);
  explicit TapLayout(const shape_inference::Window& window);

  std::int64_t plane_floats() const { return split.parts * split.rows * split.width; }
  void fill(const CpuKernels& kernels, const float* plane, float around, float* to) const;
  TapPlane plane(const float* in, float* out) const;
};

/// All of a plane, in pieces between which others may run: some rows, or a part of one.
void fold_taps(const ThreadPool& threads, TapPlane plane, void (*fold)(const TapPlane&));

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
