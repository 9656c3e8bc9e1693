// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/pack_across.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

/// One panel of `count` entries, at most a tile.
void pack_one(const CpuKernels& kernels, const MatrixView& from, std::int64_t count,
              std::int64_t depth, int tile, float* to) {
  if (from.depth_step == 1) {
    return kernels.transpose_words({from.data, from.step, to, tile, count, depth});
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* const source = from.data + k * from.depth_step;
    float* const target = to + k * tile;
    if (from.step == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
    } else {
      for (std::int64_t i = 0; i < count; ++i) target[i] = source[i * from.step];
    }
  }
}

}  // namespace

void pack_across(const CpuKernels& kernels, const MatrixView& from, std::int64_t count,
                 std::int64_t depth, int tile, float* to) {
  for (std::int64_t i = 0; i < count; i += tile, to += depth * tile) {
    const std::int64_t used = std::min<std::int64_t>(tile, count - i);
    pack_one(kernels, {from.data + i * from.step, from.step, from.depth_step}, used, depth, tile,
             to);
    for (std::int64_t k = 0; used < tile && k < depth; ++k) {
      std::fill(to + k * tile + used, to + (k + 1) * tile, 0.0f);
    }
  }
}

}  // namespace commensal::kernels::cpu
