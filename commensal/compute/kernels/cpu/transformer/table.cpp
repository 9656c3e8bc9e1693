// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/cpu/transformer/ops.hpp>
#include <commensal/compute/kernels/internal_rows.hpp>

namespace commensal::kernels {

// name, inputs min and max, kind, infer, cpu, pack
std::vector<InternalRow> transformer_rows() {
  using namespace cpu;
  return {
      {"Attention", 3, limits::kNodeInputsMax, Kind::kReduction, infer_attention, attention},
      {"GeluSteps", 1, 1, Kind::kElementwise, infer_gelu_steps, gelu_steps},
      {"RowsMatMul", 2, 4, Kind::kDotProduct, infer_rows_matmul, rows_matmul, pack_rows_matmul},
      {"LayerNormSteps", 3, 3, Kind::kReduction, infer_layer_norm_steps, layer_norm_steps},
  };
}

}  // namespace commensal::kernels
