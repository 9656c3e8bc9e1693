// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <cstdint>

namespace commensal::kernels::cpu {

/// x becomes x * (erf(x / divisor) + 1) * 0.5 in `rows` short rows, `step` floats apart.
struct GeluRows {
  float* x = nullptr;
  std::int64_t step = 0, rows = 0, width = 0;
  float divisor = 1;
};
using GeluRowsFn = void (*)(const GeluRows&);

GeluRowsFn gelu_rows_for(Isa isa);

}  // namespace commensal::kernels::cpu
