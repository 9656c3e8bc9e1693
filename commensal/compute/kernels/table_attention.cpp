// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns
std::vector<Row> attention_rows() {
  return {
      {"Attention", 23, 23, 3, 6, 4, Kind::kReduction, ref::attention()},
      {"Attention", 24, 0, 3, 7, 4, Kind::kReduction, ref::attention()},
      {"Gelu", 20, 0, 1, 1, 1, Kind::kElementwise, ref::gelu(), {cpu::gelu}},
      {"Mish", 18, 0, 1, 1, 1, Kind::kElementwise, ref::mish()},
      {"RotaryEmbedding", 23, 0, 3, 4, 1, Kind::kElementwise, ref::rotary_embedding()},
      {"Swish", 24, 0, 1, 1, 1, Kind::kElementwise, ref::swish()},
      {"TensorScatter", 24, 0, 2, 3, 1, Kind::kMovement, ref::tensor_scatter()},
  };
}

}  // namespace commensal::kernels
