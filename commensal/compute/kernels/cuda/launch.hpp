// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What the kernels (*.cu) are written against. nvcc has CUDA itself; every other compiler gets the
/// same words from emulation/.
///   launch(queue, kernel, grid, block, arguments...)   instead of <<<>>>; errors stay in the queue
///   Shared<T, n>                                        an array in shared memory
#ifdef __CUDACC__

namespace commensal::kernels::cuda {

/// Most blocks of a grid along x, and along y or z; blocks stride over the work beyond.
inline constexpr std::int64_t kBlocksMax = std::int64_t{1} << 20, kLayersMax = 65535;

/// Work for a card, in order. Defined where it runs (plugin.cu).
struct Queue {
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaSuccess;  // the first one

  bool holds(cudaError_t got) {
    if (error == cudaSuccess) error = got;
    return got == cudaSuccess;
  }
};

template <class... Parameters, class... Arguments>
void launch(Queue& queue, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const Arguments&... arguments) {
  kernel<<<grid, block, 0, queue.stream>>>(arguments...);
  queue.holds(cudaGetLastError());
}

template <class T, int kSize>
struct Shared {
  T cells[kSize];
  __device__ T& operator[](int index) { return cells[index]; }
};

}  // namespace commensal::kernels::cuda

#else

#include <commensal/compute/kernels/cuda/emulation/names.hpp>
#include <string>

namespace commensal::kernels::cuda {

// So few that tests of small shapes stride too.
inline constexpr std::int64_t kBlocksMax = 40, kLayersMax = 3;

/// Work for the emulation, done at once.
struct Queue {
  explicit Queue(std::uint64_t seed) : machine(seed) {}
  emulation::Machine machine;
  std::string error;  // the first one
};

template <class... Parameters, class... Arguments>
void launch(Queue& queue, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const Arguments&... arguments) {
  if (!queue.error.empty()) return;
  const auto done = queue.machine.run(grid, block, [&] { kernel(arguments...); });
  if (!done) queue.error = done.error().message;
}

}  // namespace commensal::kernels::cuda

#endif

namespace commensal::kernels::cuda {

/// Blocks for `count` pieces of work, `each` of them in a block at a time.
inline unsigned blocks_for(std::int64_t count, std::int64_t each, std::int64_t blocks_max) {
  const std::int64_t blocks = (count + each - 1) / each;
  return static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max);
}

}  // namespace commensal::kernels::cuda
