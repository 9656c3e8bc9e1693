// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns
std::vector<Row> product_rows() {
  return {
      {"AveragePool", 1, 0, 1, 1, 1, Kind::kReduction, ref::average_pool(), {cpu::average_pool}},
      {"BatchNormalization",
       1,
       13,
       5,
       5,
       5,
       Kind::kElementwise,
       ref::batch_normalization(),
       {cpu::batch_normalization}},
      {"BatchNormalization",
       14,
       0,
       5,
       5,
       3,
       Kind::kElementwise,
       ref::batch_normalization(),
       {cpu::batch_normalization}},
      {"Conv", 1, 0, 2, 3, 1, Kind::kDotProduct, ref::conv(), {cpu::conv, cpu::pack_conv}},
      {"Gemm", 1, 6, 3, 3, 1, Kind::kDotProduct, ref::gemm(), {cpu::gemm, cpu::pack_gemm}},
      {"Gemm", 7, 0, 2, 3, 1, Kind::kDotProduct, ref::gemm(), {cpu::gemm, cpu::pack_gemm}},
      {"GlobalAveragePool",
       1,
       0,
       1,
       1,
       1,
       Kind::kReduction,
       ref::global_average_pool(),
       {cpu::global_average_pool}},
      {"GlobalLpPool", 1, 0, 1, 1, 1, Kind::kReduction, ref::global_lp_pool()},
      {"GlobalMaxPool", 1, 0, 1, 1, 1, Kind::kReduction, ref::global_max_pool()},
      {"GroupNormalization", 18, 0, 3, 3, 1, Kind::kReduction, ref::group_normalization()},
      {"InstanceNormalization", 1, 0, 3, 3, 1, Kind::kReduction, ref::instance_normalization()},
      {"LRN", 1, 0, 1, 1, 1, Kind::kReduction, ref::lrn()},
      {"LayerNormalization", 17, 0, 2, 3, 3, Kind::kReduction, ref::layer_normalization()},
      {"LpNormalization", 1, 0, 1, 1, 1, Kind::kReduction, ref::lp_normalization()},
      {"LpPool", 1, 0, 1, 1, 1, Kind::kReduction, ref::lp_pool()},
      {"MatMul", 1, 0, 2, 2, 1, Kind::kDotProduct, ref::matmul(), {cpu::matmul, cpu::pack_matmul}},
      {"MaxPool", 1, 7, 1, 1, 1, Kind::kReduction, ref::max_pool(), {cpu::max_pool}},
      {"MaxPool", 8, 0, 1, 1, 2, Kind::kReduction, ref::max_pool(), {cpu::max_pool}},
      {"MeanVarianceNormalization", 9, 0, 1, 1, 1, Kind::kReduction,
       ref::mean_variance_normalization()},
      {"RMSNormalization", 23, 0, 2, 2, 1, Kind::kReduction, ref::rms_normalization()},
  };
}

}  // namespace commensal::kernels
