// SPDX-License-Identifier: Apache-2.0
// Conv in its direct order, as a product of matrices that are never written down: a row is an
// output channel of a group, a column an output position, k = tap * channels + channel.
#include <commensal/compute/kernels/cuda/tasks.hpp>
#include <commensal/compute/kernels/cuda/tile.hpp>

namespace commensal::kernels::cuda {
namespace {

using L = CudaLanes;
using InsideCells = Shared<std::uint8_t, kTileCells>;

/// Input coordinates of an output position's first tap.
struct Corner {
  std::int64_t at[3];
};

__device__ inline Corner corner_of(const ConvTask& task, std::int64_t position) {
  Corner corner{};
  for (int d = 2; d >= 0; --d) {
    corner.at[d] = position % task.out[d] * task.stride[d] - task.pad[d];
    position /= task.out[d];
  }
  return corner;
}

/// Offset of the tap's input in a plane, or -1 in the padding.
__device__ inline std::int64_t source_of(const ConvTask& task, const Corner& corner,
                                         std::int64_t tap) {
  std::int64_t source = 0, scale = 1;
  for (int d = 2; d >= 0; --d) {
    const std::int64_t at = corner.at[d] + tap % task.kernel[d] * task.dilation[d];
    tap /= task.kernel[d];
    if (at < 0 || at >= task.in[d]) return -1;
    source += at * scale;
    scale *= task.in[d];
  }
  return source;
}

__device__ inline std::int64_t product_of(const std::int64_t (&dims)[3]) {
  return dims[0] * dims[1] * dims[2];
}

/// Cell (k, line): the weight of step k0 + k for row `line`; other rows are 0.
__device__ inline void load_weights(const ConvTask& task, TileCells& to, const float* w,
                                    std::int64_t rows, std::int64_t k0, std::int64_t steps) {
  const std::int64_t taps = product_of(task.kernel), depth = taps * task.channels;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kSteps; i += kTileThreads) {
    const int k = i % kSteps, line = i / kSteps;
    if (k >= steps) continue;
    const std::int64_t tap = (k0 + k) / task.channels, channel = (k0 + k) % task.channels;
    to[k * kPitch + line] = line < rows ? w[line * depth + channel * taps + tap] : 0.0f;
  }
}

/// Cell (k, line): the input of step k0 + k for the thread's column, and whether there is one. A
/// step in the padding is none at all: not even a weight of infinity shows.
__device__ inline void load_inputs(const ConvTask& task, TileCells& to, InsideCells& inside,
                                   const float* x, const Corner& corner, bool is_column,
                                   std::int64_t k0, std::int64_t steps) {
  const std::int64_t plane = product_of(task.in);
  const int line = static_cast<int>(threadIdx.x) % kTile;
  for (int k = static_cast<int>(threadIdx.x) / kTile; k < steps; k += kTileThreads / kTile) {
    const std::int64_t tap = (k0 + k) / task.channels, channel = (k0 + k) % task.channels;
    const std::int64_t source = is_column ? source_of(task, corner, tap) : -1;
    to[k * kPitch + line] = source < 0 ? 0.0f : x[channel * plane + source];
    inside[k * kPitch + line] = source < 0 ? 0 : 1;
  }
}

__device__ inline void multiply(TileCells& a, TileCells& b, InsideCells& inside,
                                const TilePlace& place, std::int64_t steps,
                                float (&acc)[kEach][kEach]) {
  for (int k = 0; k < steps; ++k) {
    float left[kEach];
    for (int i = 0; i < kEach; ++i) left[i] = a[k * kPitch + place.row + i * kSide];
    for (int j = 0; j < kEach; ++j) {
      const int cell = k * kPitch + place.column + j * kSide;
      const float right = b[cell];
      const bool is_step = inside[cell] != 0;
      for (int i = 0; i < kEach; ++i) {
        acc[i][j] = L::select(is_step, L::mul_add(left[i], right, acc[i][j]), acc[i][j]);
      }
    }
  }
}

/// Image and group `one`, the tile that begins at (row0, column0).
__device__ inline void conv_tile(const ConvTask& task, TileCells& a, TileCells& b,
                                 InsideCells& inside, std::int64_t one, std::int64_t row0,
                                 std::int64_t column0) {
  const TilePlace place = tile_place();
  const std::int64_t columns = product_of(task.out);
  const std::int64_t depth = product_of(task.kernel) * task.channels;
  const std::int64_t own_column = column0 + static_cast<int>(threadIdx.x) % kTile;
  const Corner corner = corner_of(task, own_column);
  const std::int64_t channel0 = one % task.groups * task.rows + row0;  // of the outputs
  const float* x = task.x + one * task.channels * product_of(task.in);
  float acc[kEach][kEach] = {};
  for (std::int64_t k0 = 0; k0 < depth; k0 += kSteps) {
    const std::int64_t steps = depth - k0 < kSteps ? depth - k0 : kSteps;
    load_weights(task, a, task.w + channel0 * depth, task.rows - row0, k0, steps);
    load_inputs(task, b, inside, x, corner, own_column < columns, k0, steps);
    __syncthreads();
    multiply(a, b, inside, place, steps, acc);
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i) {
    const std::int64_t row = row0 + place.row + i * kSide;
    if (row >= task.rows) continue;
    float last = task.bias == nullptr ? 0.0f : task.bias[one % task.groups * task.rows + row];
    last = L::select(L::equal(last, 0.0f), 0.0f, last);
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t column = column0 + place.column + j * kSide;
      if (column >= columns) continue;
      task.y[(one * task.rows + row) * columns + column] =
          function::canonical<L>(L::add(acc[i][j], last));
    }
  }
}

__global__ void conv_kernel(const ConvTask task) {
  __shared__ TileCells a, b;
  __shared__ InsideCells inside;
  const std::int64_t column0 = std::int64_t{blockIdx.x} * kTile;
  for (std::int64_t one = blockIdx.z; one < task.batch * task.groups; one += gridDim.z) {
    for (std::int64_t row = blockIdx.y; row * kTile < task.rows; row += gridDim.y) {
      conv_tile(task, a, b, inside, one, row * kTile, column0);
    }
  }
}

}  // namespace

void conv(Queue& queue, const ConvTask& task) {
  const std::int64_t columns = task.out[0] * task.out[1] * task.out[2];
  launch(queue, conv_kernel, tile_grid(task.rows, columns, task.batch * task.groups), kTileThreads,
         task);
}

}  // namespace commensal::kernels::cuda
