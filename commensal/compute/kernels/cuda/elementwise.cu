// SPDX-License-Identifier: Apache-2.0
// The functions of kernels/math and plain arithmetic, element by element.
#include <commensal/compute/kernels/cuda/lanes.hpp>
#include <commensal/compute/kernels/cuda/tasks.hpp>

namespace commensal::kernels::cuda {
namespace {

using L = CudaLanes;

constexpr int kThreads = 256;

__device__ inline std::int64_t first_element() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t elements_at_once() { return std::int64_t{gridDim.x} * blockDim.x; }

template <Function kFunction>
__device__ inline float value_of(float x, float alpha) {
  if constexpr (kFunction == Function::kAcos) return function::acos<L>(x);
  if constexpr (kFunction == Function::kAcosh) return function::acosh<L>(x);
  if constexpr (kFunction == Function::kAsin) return function::asin<L>(x);
  if constexpr (kFunction == Function::kAsinh) return function::asinh<L>(x);
  if constexpr (kFunction == Function::kAtan) return function::atan<L>(x);
  if constexpr (kFunction == Function::kAtanh) return function::atanh<L>(x);
  if constexpr (kFunction == Function::kCos) return function::cos<L>(x);
  if constexpr (kFunction == Function::kCosh) return function::cosh<L>(x);
  if constexpr (kFunction == Function::kErf) return function::erf<L>(x);
  if constexpr (kFunction == Function::kExp) return function::exp<L>(x);
  if constexpr (kFunction == Function::kLeakyRelu) return function::leaky_relu<L>(x, alpha);
  if constexpr (kFunction == Function::kLog) return function::log<L>(x);
  if constexpr (kFunction == Function::kRelu) return function::relu<L>(x);
  if constexpr (kFunction == Function::kSigmoid) return function::sigmoid<L>(x);
  if constexpr (kFunction == Function::kSin) return function::sin<L>(x);
  if constexpr (kFunction == Function::kSinh) return function::sinh<L>(x);
  if constexpr (kFunction == Function::kSoftplus) return function::softplus<L>(x);
  if constexpr (kFunction == Function::kSqrt) return L::sqrt(x);
  if constexpr (kFunction == Function::kTan) return function::tan<L>(x);
  if constexpr (kFunction == Function::kTanh) return function::tanh<L>(x);
}

template <Function kFunction>
__global__ void unary_kernel(const UnaryTask task) {
  for (std::int64_t i = first_element(); i < task.count; i += elements_at_once()) {
    task.y[i] = function::canonical<L>(value_of<kFunction>(task.x[i], task.alpha));
  }
}

using UnaryKernel = void (*)(UnaryTask);

/// The kernel of a function, looked for from `kFunction` on.
template <Function kFunction = Function::kAcos>
UnaryKernel kernel_of(Function wanted) {
  if constexpr (kFunction < Function::kTanh) {
    constexpr auto kNext = static_cast<Function>(static_cast<int>(kFunction) + 1);
    if (wanted != kFunction) return kernel_of<kNext>(wanted);
  }
  return unary_kernel<kFunction>;
}

__device__ inline float value_of(Pairing pairing, float a, float b) {
  switch (pairing) {
    case Pairing::kAdd:
      return L::add(a, b);
    case Pairing::kDiv:
      return L::div(a, b);
    case Pairing::kMax:
      return function::maximum<L>(a, b);
    case Pairing::kMin:
      return function::minimum<L>(a, b);
    case Pairing::kMul:
      return L::mul(a, b);
    case Pairing::kPow:
      return function::pow<L>(a, b);
    case Pairing::kSub:
      return L::sub(a, b);
  }
  return 0.0f;
}

__global__ void binary_kernel(const BinaryTask task) {
  for (std::int64_t i = first_element(); i < task.count; i += elements_at_once()) {
    std::int64_t rest = i, from_a = 0, from_b = 0;
    for (int d = task.rank - 1; d >= 0; --d) {
      const std::int64_t at = rest % task.dims[d];
      rest /= task.dims[d];
      from_a += at * task.a_stride[d];
      from_b += at * task.b_stride[d];
    }
    const float value = value_of(task.pairing, task.a[from_a], task.b[from_b]);
    task.y[i] = function::canonical<L>(value);
  }
}

}  // namespace

void unary(Queue& queue, const UnaryTask& task) {
  launch(queue, kernel_of(task.function), blocks_for(task.count, kThreads, kBlocksMax), kThreads,
         task);
}

void binary(Queue& queue, const BinaryTask& task) {
  launch(queue, binary_kernel, blocks_for(task.count, kThreads, kBlocksMax), kThreads, task);
}

}  // namespace commensal::kernels::cuda
