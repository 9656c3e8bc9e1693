// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/blocked/lanes.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

/// Pictures with their channels in blocks: element (n, c, y, x) of [N, C, H, W] is element
/// (n, c / 16, y, x, c % 16) of a tensor [N, ceil(C / 16), H, W, 16]. One block is a vector of
/// AVX-512, two of AVX2, four of NEON; the layout is the same everywhere. Channels beyond C hold
/// anything finite or not: nothing that is computed from them is ever looked at.
namespace commensal::kernels::cpu {

inline constexpr std::int64_t kBlock = 16;

constexpr std::int64_t blocks_of(std::int64_t channels) { return ceil_div(channels, kBlock); }

/// The sizes of a blocked tensor.
struct BlockedShape {
  std::int64_t batch = 0, blocks = 0, height = 0, width = 0;

  static BlockedShape of(const tensor::Shape& shape) {
    return {shape[0], shape[1], shape[2], shape[3]};
  }
  TensorType type() const {
    return {tensor::DType::kFloat32, {batch, blocks, height, width, kBlock}};
  }
  std::int64_t pixels() const { return height * width; }
  std::int64_t plane() const { return pixels() * kBlock; }  // floats of a block of channels
  std::int64_t image() const { return blocks * plane(); }
};

/// Where vector `v` (counted from a block's beginning) of a pixel lies in planes of blocks.
constexpr std::int64_t vector_offset(std::int64_t v, int lanes, std::int64_t plane) {
  const std::int64_t in_block = kBlock / lanes;
  return v / in_block * plane + v % in_block * lanes;
}

}  // namespace commensal::kernels::cpu
