// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/infer/conv.hpp>

namespace commensal::kernels::cpu {

/// A convolution over one or two spatial dimensions, as two.
struct ConvGeometry {
  std::int64_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  bool padded() const;
  /// A matrix product of the picture as it lies in memory.
  bool is_pointwise() const;
};
ConvGeometry geometry_of(const infer::Window& window);

/// The right matrix of a convolution as a product (im2col), gathered block by block: row
/// (tap * channels + c), column = output pixel, +0 in the padding.
class TapColumns final : public ColumnSource {
 public:
  /// `planes`: the `channels` input planes of one image and group.
  TapColumns(const CpuKernels& kernels, const ConvGeometry& geometry, const float* planes,
             std::int64_t channels)
      : kernels_(&kernels), geometry_(&geometry), planes_(planes), channels_(channels) {}
  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override;

 private:
  const CpuKernels* kernels_;
  const ConvGeometry* geometry_;
  const float* planes_;
  std::int64_t channels_;
};

}  // namespace commensal::kernels::cpu
