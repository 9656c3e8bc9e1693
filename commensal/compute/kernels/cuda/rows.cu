// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalisations: one warp for each row. The 32 lanes of the specification's sums
// are the lanes of the warp, its tree is made of shuffles.
#include <commensal/compute/kernels/cuda/lanes.hpp>
#include <commensal/compute/kernels/cuda/tasks.hpp>

namespace commensal::kernels::cuda {
namespace {

using L = CudaLanes;

constexpr int kLanes = 32;
constexpr int kWarps = 4;  // of a block
constexpr unsigned kAll = 0xffffffffu;

__device__ inline int own_lane() { return static_cast<int>(threadIdx.x) % kLanes; }
/// The rows of a warp are first_row(), first_row() + rows_at_once(), ...
__device__ inline std::int64_t first_row() {
  return std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes;
}
__device__ inline std::int64_t rows_at_once() { return std::int64_t{gridDim.x} * kWarps; }

/// lane[l] = lane[l] + lane[l + h] for h = 16, 8, 4, 2, 1, then +0: the result of lane 0, which
/// every lane gets. The upper lanes add what is never looked at.
__device__ inline float sum_of_lanes(float lane) {
  for (unsigned h = kLanes / 2; h > 0; h /= 2) {
    lane = L::add(lane, __shfl_down_sync(kAll, lane, h));
  }
  return L::add(__shfl_sync(kAll, lane, 0), 0.0f);
}

/// The order of extremes is total: any order of comparing will do.
__device__ inline float largest_of_lanes(float lane) {
  for (int h = kLanes / 2; h > 0; h /= 2) {
    lane = function::maximum<L>(lane, __shfl_xor_sync(kAll, lane, h));
  }
  return lane;
}

__global__ void softmax_kernel(const SoftmaxTask task) {
  for (std::int64_t row = first_row(); row < task.rows; row += rows_at_once()) {
    const std::int64_t begin = row / task.step * task.step * task.length + row % task.step;
    const float* x = task.x + begin;
    float* y = task.y + begin;
    float largest = L::from_bits(static_cast<std::int32_t>(0xff800000u));  // -infinity
    for (std::int64_t i = own_lane(); i < task.length; i += kLanes) {
      largest = function::maximum<L>(largest, x[i * task.step]);
    }
    largest = largest_of_lanes(largest);
    float sum = -0.0f;  // adds nothing
    for (std::int64_t i = own_lane(); i < task.length; i += kLanes) {
      const float power = function::exp<L>(L::sub(x[i * task.step], largest));
      y[i * task.step] = power;
      sum = L::add(sum, power);
    }
    sum = sum_of_lanes(sum);
    for (std::int64_t i = own_lane(); i < task.length; i += kLanes) {
      y[i * task.step] = function::canonical<L>(L::div(y[i * task.step], sum));
    }
  }
}

__global__ void norm_kernel(const NormTask task) {
  for (std::int64_t group = first_row(); group < task.groups; group += rows_at_once()) {
    const float* x = task.x + group * task.size;
    const float count = static_cast<float>(task.size);
    float sum = -0.0f;
    for (std::int64_t i = own_lane(); i < task.size; i += kLanes) sum = L::add(sum, x[i]);
    const float mean = L::div(sum_of_lanes(sum), count);
    float squares = -0.0f;
    for (std::int64_t i = own_lane(); i < task.size; i += kLanes) {
      const float d = L::sub(x[i], mean);
      squares = L::add(squares, L::mul(d, d));
    }
    const float variance = L::div(sum_of_lanes(squares), count);
    const float inverse = L::div(1.0f, L::sqrt(L::add(variance, task.epsilon)));
    for (std::int64_t i = own_lane(); i < task.size; i += kLanes) {
      const std::int64_t p = task.channels > 0 ? group % task.channels : i;
      const float bias = task.bias == nullptr ? 0.0f : task.bias[p];
      const float scaled = L::mul(L::sub(x[i], mean), inverse);
      task.y[group * task.size + i] =
          function::canonical<L>(L::mul_add(scaled, task.scale[p], bias));
    }
    if (own_lane() != 0) continue;
    if (task.mean != nullptr) task.mean[group] = function::canonical<L>(mean);
    if (task.inverse != nullptr) task.inverse[group] = function::canonical<L>(inverse);
  }
}

}  // namespace

void softmax(Queue& queue, const SoftmaxTask& task) {
  launch(queue, softmax_kernel, blocks_for(task.rows, kWarps, kBlocksMax), kWarps * kLanes, task);
}

void normalise(Queue& queue, const NormTask& task) {
  launch(queue, norm_kernel, blocks_for(task.groups, kWarps, kBlocksMax), kWarps * kLanes, task);
}

}  // namespace commensal::kernels::cuda
