// SPDX-License-Identifier: Apache-2.0
// The transforms of the Winograd clause (docs/numerics.md). Between them product.cu multiplies,
// one product of matrices for each point.
#include <commensal/compute/kernels/cuda/lanes.hpp>
#include <commensal/compute/kernels/cuda/tasks.hpp>
#include <commensal/compute/kernels/math/winograd_filter.hpp>

namespace commensal::kernels::cuda {
namespace {

using L = CudaLanes;

constexpr int kWinogradThreads = 128;

__device__ inline std::int64_t first_piece() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t pieces_at_once() { return std::int64_t{gridDim.x} * blockDim.x; }

/// Piece: one filter.
template <int kM>
__global__ void filter_kernel(const WinogradTask task) {
  constexpr int kPoints = (kM + 2) * (kM + 2);
  const std::int64_t count = task.out_channels * task.channels;
  for (std::int64_t i = first_piece(); i < count; i += pieces_at_once()) {
    float u[kPoints];
    math::winograd_filter_of<kM>(task.w + i * 9, u);
    for (int p = 0; p < kPoints; ++p) task.filters[p * count + i] = u[p];
  }
}

/// Piece: one tile of one channel, neighbouring threads having neighbouring tiles. Elements outside
/// of the image are +0.
template <int kM>
__global__ void input_kernel(const WinogradTask task) {
  constexpr int kT = kM + 2;
  const std::int64_t per_image = task.tiles_down * task.tiles_across;
  const std::int64_t tiles = task.batch * per_image, count = task.channels * tiles;
  for (std::int64_t i = first_piece(); i < count; i += pieces_at_once()) {
    const std::int64_t channel = i / tiles, tile = i % tiles;
    const std::int64_t image = tile / per_image, in_image = tile % per_image;
    const std::int64_t top = in_image / task.tiles_across * kM - task.pad[0];
    const std::int64_t left = in_image % task.tiles_across * kM - task.pad[1];
    const float* plane = task.x + (image * task.channels + channel) * task.in[0] * task.in[1];
    float d[kT * kT], v[kT * kT];
    for (int e = 0; e < kT * kT; ++e) {
      const std::int64_t row = top + e / kT, column = left + e % kT;
      const bool inside = row >= 0 && row < task.in[0] && column >= 0 && column < task.in[1];
      d[e] = inside ? plane[row * task.in[1] + column] : 0.0f;
    }
    function::winograd_input<L, kM>(d, v);
    for (int p = 0; p < kT * kT; ++p) task.inputs[p * count + i] = v[p];
  }
}

/// Piece: one tile of one output channel; what reaches beyond the output is cut.
template <int kM>
__global__ void output_kernel(const WinogradTask task) {
  constexpr int kT = kM + 2;
  const std::int64_t per_image = task.tiles_down * task.tiles_across;
  const std::int64_t tiles = task.batch * per_image, count = task.out_channels * tiles;
  for (std::int64_t i = first_piece(); i < count; i += pieces_at_once()) {
    const std::int64_t channel = i / tiles, tile = i % tiles;
    const std::int64_t image = tile / per_image, in_image = tile % per_image;
    float m[kT * kT], y[kM * kM];
    for (int p = 0; p < kT * kT; ++p) m[p] = task.sums[p * count + i];
    function::winograd_output<L, kM>(m, y);
    float last = task.bias == nullptr ? 0.0f : task.bias[channel];
    last = L::select(L::equal(last, 0.0f), 0.0f, last);
    float* plane = task.y + (image * task.out_channels + channel) * task.out[0] * task.out[1];
    for (int e = 0; e < kM * kM; ++e) {
      const std::int64_t row = in_image / task.tiles_across * kM + e / kM;
      const std::int64_t column = in_image % task.tiles_across * kM + e % kM;
      if (row >= task.out[0] || column >= task.out[1]) continue;
      plane[row * task.out[1] + column] = function::canonical<L>(L::add(y[e], last));
    }
  }
}

std::int64_t tiles_of(const WinogradTask& task) {
  return task.batch * task.tiles_down * task.tiles_across;
}

}  // namespace

void winograd_filters(Queue& queue, const WinogradTask& task) {
  const auto kernel = task.tile == 4 ? filter_kernel<4> : filter_kernel<2>;
  launch(queue, kernel, blocks_for(task.out_channels * task.channels, kWinogradThreads, kBlocksMax),
         kWinogradThreads, task);
}

void winograd_inputs(Queue& queue, const WinogradTask& task) {
  const auto kernel = task.tile == 4 ? input_kernel<4> : input_kernel<2>;
  launch(queue, kernel, blocks_for(task.channels * tiles_of(task), kWinogradThreads, kBlocksMax),
         kWinogradThreads, task);
}

void winograd_outputs(Queue& queue, const WinogradTask& task) {
  const auto kernel = task.tile == 4 ? output_kernel<4> : output_kernel<2>;
  launch(queue, kernel,
         blocks_for(task.out_channels * tiles_of(task), kWinogradThreads, kBlocksMax),
         kWinogradThreads, task);
}

}  // namespace commensal::kernels::cuda
