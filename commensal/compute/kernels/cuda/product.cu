// SPDX-License-Identifier: Apache-2.0
// Products of matrices: Gemm, MatMul, and the points of the Winograd clause.
#include <commensal/compute/kernels/cuda/tasks.hpp>
#include <commensal/compute/kernels/cuda/tile.hpp>

namespace commensal::kernels::cuda {
namespace {

using L = CudaLanes;

/// alpha, then beta C (-0 counting as +0), each rounded; a factor of 1 changes nothing.
__device__ inline float finish(const ProductTask& task, float acc, std::int64_t row,
                               std::int64_t column) {
  if (!task.ends) return acc;
  float last = 0.0f;
  if (task.c != nullptr) {
    last = L::mul(task.beta, task.c[row * task.c_row_step + column * task.c_column_step]);
  }
  last = L::select(L::equal(last, 0.0f), 0.0f, last);
  return function::canonical<L>(L::add(L::mul(task.alpha, acc), last));
}

/// Product `one` of the batch, the tile that begins at (row0, column0).
__device__ inline void product_tile(const ProductTask& task, TileCells& a, TileCells& b,
                                    std::int64_t one, std::int64_t row0, std::int64_t column0) {
  const TilePlace place = tile_place();
  const float* from_a = task.a + task.offsets[one] + row0 * task.a_row_step;
  const float* from_b = task.b + task.offsets[task.batch + one] + column0 * task.b_column_step;
  float acc[kEach][kEach] = {};
  for (std::int64_t k0 = 0; k0 < task.depth; k0 += kSteps) {
    const std::int64_t steps = task.depth - k0 < kSteps ? task.depth - k0 : kSteps;
    load_tile(a, from_a + k0 * task.a_step, task.a_row_step, task.a_step, task.rows - row0, steps);
    load_tile(b, from_b + k0 * task.b_step, task.b_column_step, task.b_step, task.columns - column0,
              steps);
    __syncthreads();
    for (int k = 0; k < steps; ++k) {
      float left[kEach], right[kEach];
      for (int i = 0; i < kEach; ++i) left[i] = a[k * kPitch + place.row + i * kSide];
      for (int j = 0; j < kEach; ++j) right[j] = b[k * kPitch + place.column + j * kSide];
      for (int i = 0; i < kEach; ++i) {
        for (int j = 0; j < kEach; ++j) acc[i][j] = L::mul_add(left[i], right[j], acc[i][j]);
      }
    }
    __syncthreads();
  }
  float* y = task.y + task.offsets[2 * task.batch + one];
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t row = row0 + place.row + i * kSide;
      const std::int64_t column = column0 + place.column + j * kSide;
      if (row >= task.rows || column >= task.columns) continue;
      y[row * task.columns + column] = finish(task, acc[i][j], row, column);
    }
  }
}

__global__ void product_kernel(const ProductTask task) {
  __shared__ TileCells a, b;
  const std::int64_t column0 = std::int64_t{blockIdx.x} * kTile;
  for (std::int64_t one = blockIdx.z; one < task.batch; one += gridDim.z) {
    for (std::int64_t row = blockIdx.y; row * kTile < task.rows; row += gridDim.y) {
      product_tile(task, a, b, one, row * kTile, column0);
    }
  }
}

}  // namespace

void product(Queue& queue, const ProductTask& task) {
  launch(queue, product_kernel, tile_grid(task.rows, task.columns, task.batch), kTileThreads, task);
}

}  // namespace commensal::kernels::cuda
