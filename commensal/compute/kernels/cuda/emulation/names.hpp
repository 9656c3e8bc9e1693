// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <commensal/compute/kernels/cuda/emulation/machine.hpp>
#include <commensal/compute/kernels/cuda/emulation/shared.hpp>
#include <cstdint>

/// CUDA's words for a plain C++ compiler, as far as our kernels use them. Sources that include this
/// are kernels and their tests, nothing else.
#define __global__
#define __device__
// The blocks of a grid run one after another, so that one copy serves them all. Always of a type
// Shared<T, n>.
#define __shared__ static thread_local

#define threadIdx (::commensal::kernels::cuda::emulation::Machine::here().thread)
#define blockIdx (::commensal::kernels::cuda::emulation::Machine::here().block)
#define blockDim (::commensal::kernels::cuda::emulation::Machine::here().block_size)
#define gridDim (::commensal::kernels::cuda::emulation::Machine::here().grid)

namespace commensal::kernels::cuda {

using dim3 = emulation::Extent;

// The line makes out which barrier it is; no caller gives it.

inline void __syncthreads(int line = __builtin_LINE()) {
  emulation::Machine::current().stop_at(
      {.wait = emulation::Wait::kBlock, .what = "__syncthreads", .line = line});
}

namespace emulation {
inline std::uint32_t exchange(const char* what, int line, unsigned mask, std::uint32_t value,
                              int source) {
  return Machine::current().stop_at({.wait = Wait::kWarp,
                                     .what = what,
                                     .line = line,
                                     .mask = mask,
                                     .value = value,
                                     .source = source});
}
inline int own_lane() { return Machine::here().index % kWarp; }
}  // namespace emulation

inline void __syncwarp(unsigned mask = UINT32_MAX, int line = __builtin_LINE()) {
  emulation::exchange("__syncwarp", line, mask, 0, emulation::own_lane());
}
inline float __shfl_sync(unsigned mask, float value, int lane, int line = __builtin_LINE()) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>(
      emulation::exchange("__shfl_sync", line, mask, bits, lane & (emulation::kWarp - 1)));
}
/// Beyond the last lane: the lane's own value.
inline float __shfl_down_sync(unsigned mask, float value, unsigned delta,
                              int line = __builtin_LINE()) {
  const int own = emulation::own_lane();
  const bool inside = delta < static_cast<unsigned>(emulation::kWarp - own);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>(emulation::exchange("__shfl_down_sync", line, mask, bits,
                                                  inside ? own + static_cast<int>(delta) : own));
}
inline float __shfl_xor_sync(unsigned mask, float value, int lanes, int line = __builtin_LINE()) {
  const int source = (emulation::own_lane() ^ lanes) & (emulation::kWarp - 1);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>(emulation::exchange("__shfl_xor_sync", line, mask, bits, source));
}

namespace emulation {
/// A card's arithmetic gives one NaN, which is not the canonical one of docs/numerics.md.
inline float as_on_a_card(float x) { return x != x ? std::bit_cast<float>(0x7fffffffu) : x; }
}  // namespace emulation

inline float __fadd_rn(float a, float b) { return emulation::as_on_a_card(a + b); }
inline float __fsub_rn(float a, float b) { return emulation::as_on_a_card(a - b); }
inline float __fmul_rn(float a, float b) { return emulation::as_on_a_card(a * b); }
inline float __fdiv_rn(float a, float b) { return emulation::as_on_a_card(a / b); }
inline float __fsqrt_rn(float a) { return emulation::as_on_a_card(std::sqrt(a)); }
inline float __fmaf_rn(float a, float b, float c) {
  return emulation::as_on_a_card(std::fma(a, b, c));
}
inline int __float_as_int(float a) { return std::bit_cast<int>(a); }
inline float __int_as_float(int a) { return std::bit_cast<float>(a); }
inline float __int2float_rn(int a) { return static_cast<float>(a); }
/// Saturates; NaN is 0.
inline int __float2int_rn(float a) {
  if (a != a) return 0;
  if (a >= 0x1p31f) return INT32_MAX;
  return a < -0x1p31f ? INT32_MIN : static_cast<int>(std::nearbyint(a));
}

}  // namespace commensal::kernels::cuda
