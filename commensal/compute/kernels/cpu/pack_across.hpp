// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/lanes.hpp>

namespace commensal::kernels::cpu {

/// Where a matrix lies in a tensor.
struct MatrixView {
  const float* data = nullptr;  // element (i, k) at data[i * step + k * depth_step]
  std::int64_t step = 0, depth_step = 0;
};

/// Floats that `pack_across` writes for `count` entries.
constexpr std::int64_t packed_across_floats(std::int64_t count, std::int64_t depth, int tile) {
  return (count + tile - 1) / tile * tile * depth;
}

/// Rows or columns [0, count) of a product's operand in panels of `tile`: entry i of step k goes to
/// to[(i / tile * depth + k) * tile + i % tile]; what is beyond `count` becomes +0. This is what
/// GemmPanel reads, rows in tiles of tile_rows, columns in tiles of tile_columns.
void pack_across(const CpuKernels& kernels, const MatrixView& from, std::int64_t count,
                 std::int64_t depth, int tile, float* to);

}  // namespace commensal::kernels::cpu
