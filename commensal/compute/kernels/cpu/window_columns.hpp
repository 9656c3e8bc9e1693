// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::cpu {

/// The right matrix of a convolution of any rank as a product, gathered block by block: row
/// (tap * channels + c), column = output place. A tap that reads outside is +0. Of the window only
/// sizes, strides, dilations (which may be negative) and pad_begin count.
class WindowColumns final : public ColumnSource {
 public:
  /// `x`: the first of `channels` planes of the window's input.
  WindowColumns(const CpuKernels& kernels, const shape_inference::Window& window, const float* x,
                std::int64_t channels)
      : tile_columns_(kernels.tile_columns), window_(window), x_(x), channels_(channels) {}
  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override;

 private:
  void fill_row(std::int64_t row, std::int64_t column, int columns, float* to) const;
  /// `count` places of a line of the last dimension, from place `at` on.
  void fill_line(const shape_inference::Dims& tap, const shape_inference::Dims& at, int count,
                 const float* plane, float* to) const;

  int tile_columns_;
  shape_inference::Window window_;
  const float* x_;
  std::int64_t channels_;
};

}  // namespace commensal::kernels::cpu
