// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns
std::vector<Row> quantised_rows() {
  return {
      {"ConvInteger", 10, 0, 2, 4, 1, Kind::kDotProduct, ref::conv_integer()},
      {"DequantizeLinear", 10, 0, 2, 3, 1, Kind::kElementwise, ref::dequantize_linear()},
      {"DynamicQuantizeLinear", 11, 0, 1, 1, 3, Kind::kReduction, ref::dynamic_quantize_linear()},
      {"MatMulInteger", 10, 0, 2, 4, 1, Kind::kDotProduct, ref::matmul_integer()},
      {"QLinearConv", 10, 0, 8, 9, 1, Kind::kDotProduct, ref::qlinear_conv()},
      {"QLinearMatMul", 10, 0, 8, 8, 1, Kind::kDotProduct, ref::qlinear_matmul()},
      {"QuantizeLinear", 10, 0, 2, 3, 1, Kind::kElementwise, ref::quantize_linear()},
  };
}

}  // namespace commensal::kernels
