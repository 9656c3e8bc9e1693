// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cuda/lanes.hpp>

/// The product of two tiles in shared memory, for kernels of 256 threads: the block makes
/// kTile x kTile outputs, each thread 4 x 4 of them, each output one chain over k ascending.
namespace commensal::kernels::cuda {

inline constexpr int kTile = 64;   // lines of either side
inline constexpr int kSteps = 16;  // of k that are in shared memory at a time
inline constexpr int kSide = 16;   // threads along either side
inline constexpr int kEach = kTile / kSide;
inline constexpr int kTileThreads = kSide * kSide;
inline constexpr int kPitch = kTile + 1;  // so that neighbours in k lie in different banks
inline constexpr int kTileCells = kSteps * kPitch;

using TileCells = Shared<float, kTileCells>;

/// The thread's place: it makes outputs (row + i * kSide, column + j * kSide), so that
/// neighbouring threads read and write neighbouring columns.
struct TilePlace {
  int row = 0, column = 0;
};
__device__ inline TilePlace tile_place() {
  const int thread = static_cast<int>(threadIdx.x);
  return {thread / kSide, thread % kSide};
}

/// Cell (k, line) = from[line * line_step + k * step] where both are inside; other lines are 0.
/// Neighbouring threads read what lies side by side.
__device__ inline void load_tile(TileCells& to, const float* from, std::int64_t line_step,
                                 std::int64_t step, std::int64_t lines, std::int64_t steps) {
  const bool along_k = step == 1;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kSteps; i += kTileThreads) {
    const int k = along_k ? i % kSteps : i / kTile;
    const int line = along_k ? i / kSteps : i % kTile;
    if (k >= steps) continue;
    to[k * kPitch + line] = line < lines ? from[line * line_step + k * step] : 0.0f;
  }
}

/// A block for every tile of outputs along x; along y (rows) and z (the batch) blocks stride.
inline dim3 tile_grid(std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  return dim3(blocks_for(columns, kTile, INT32_MAX), blocks_for(rows, kTile, kLayersMax),
              blocks_for(batch, 1, kLayersMax));
}

}  // namespace commensal::kernels::cuda
