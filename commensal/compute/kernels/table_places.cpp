// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns
std::vector<Row> place_rows() {
  return {
      {"AffineGrid", 20, 0, 2, 2, 1, Kind::kReduction, ref::affine_grid()},
      {"ConvTranspose", 1, 0, 2, 3, 1, Kind::kDotProduct, ref::conv_transpose()},
      {"DeformConv", 19, 0, 3, 5, 1, Kind::kDotProduct, ref::deform_conv()},
      {"Det", 11, 0, 1, 1, 1, Kind::kReduction, ref::det()},
      {"Einsum", 12, 0, 1, limits::kNodeInputsMax, 1, Kind::kDotProduct, ref::einsum()},
      {"GridSample", 16, 0, 2, 2, 1, Kind::kReduction, ref::grid_sample()},
      {"MaxRoiPool", 1, 0, 2, 2, 1, Kind::kReduction, ref::max_roi_pool()},
      {"MaxUnpool", 9, 0, 2, 3, 1, Kind::kReduction, ref::max_unpool()},
      {"NonMaxSuppression", 10, 0, 2, 5, 1, Kind::kReduction, ref::non_max_suppression()},
      {"NonZero", 9, 0, 1, 1, 1, Kind::kReduction, ref::non_zero()},
      {"OneHot", 9, 0, 3, 3, 1, Kind::kMovement, ref::one_hot()},
      {"Resize", 10, 10, 2, 2, 1, Kind::kReduction, ref::resize()},
      {"Resize", 11, 0, 1, 4, 1, Kind::kReduction, ref::resize()},
      {"ReverseSequence", 10, 0, 2, 2, 1, Kind::kMovement, ref::reverse_sequence()},
      {"RoiAlign", 10, 0, 3, 3, 1, Kind::kReduction, ref::roi_align()},
      {"Scatter", 9, 10, 3, 3, 1, Kind::kReduction, ref::scatter_elements()},
      {"ScatterElements", 11, 0, 3, 3, 1, Kind::kReduction, ref::scatter_elements()},
      {"ScatterND", 11, 0, 3, 3, 1, Kind::kReduction, ref::scatter_nd()},
      {"TopK", 1, 9, 1, 1, 2, Kind::kReduction, ref::top_k()},
      {"TopK", 10, 0, 2, 2, 2, Kind::kReduction, ref::top_k()},
      {"Unique", 11, 0, 1, 1, 4, Kind::kReduction, ref::unique()},
      {"Upsample", 7, 8, 1, 1, 1, Kind::kReduction, ref::resize()},
      {"Upsample", 9, 9, 2, 2, 1, Kind::kReduction, ref::resize()},
  };
}

}  // namespace commensal::kernels
