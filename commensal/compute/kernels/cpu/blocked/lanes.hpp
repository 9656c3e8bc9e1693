// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/cpu/blocked/row_product.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels::cpu {

/// One row of outputs of one block of channels, of a depthwise or narrowly grouped convolution:
/// pixel i reads tap (ky, kx) at rows[ky] + kx * tap_step + i * step.
struct LanesRow {
  const float* const* rows = nullptr;  // null: out of the picture, skipped
  int kernel_height = 0;
  int kernel_width = 0;
  int group = 1;                   // channels of a group, a divisor of 16
  const float* weights = nullptr;  // [ky][kx][c in group][16]
  std::int64_t tap_step = 0;
  std::int64_t step = 0;
  int count = 0;
  float* out = nullptr;
  RowFinish how;
};

/// The input transform of one tile of one block: pixel (i, j) of the patch at
/// patch + i * row_step + j * 16, point p to out + p * point_step.
struct BlockedTileIn {
  const float* patch = nullptr;
  std::int64_t row_step = 0;
  float* out = nullptr;
  std::int64_t point_step = 0;
};

/// The output transform of one tile of one block: point p at sums + p * point_step; `height` x
/// `width` pixels are wanted, pixel (i, j) at out + i * row_step + j * 16.
struct BlockedTileOut {
  const float* sums = nullptr;
  std::int64_t point_step = 0;
  float* out = nullptr;
  std::int64_t row_step = 0;
  int height = 0, width = 0;
  RowFinish how;
};

struct BlockedWinograd {
  void (*filters)(const WinogradFilters&) = nullptr;
  void (*input)(const BlockedTileIn&) = nullptr;
  void (*output)(const BlockedTileOut&) = nullptr;
};

/// y = fma(x - mean, scale, bias) with one of each for every channel of a block.
struct PlaneNormalise {
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  bool clamps = false;
  float low = 0, high = 0;  // high is not -0
};

/// The taps of one output pixel that are inside the picture, across: `width` from pixel `from` on,
/// the first of them tap `first` of the window's row, modulo 2^32: it says only in which lane of a
/// sum a tap is.
struct PoolColumn {
  std::int64_t from = 0;
  std::uint32_t first = 0;
  int width = 0;
};

/// One row of outputs of a block, of a pool: `height` rows of taps are inside the picture, the
/// first of them row `first_row` of the window, which has `taps_across`: modulo 2^32, as above.
struct PoolRow {
  const float* from = nullptr;  // the picture's row that the first tap reads
  std::int64_t row_step = 0, column_step = 0;
  int height = 0;
  std::uint32_t first_row = 0, taps_across = 0;
  const PoolColumn* columns = nullptr;
  const float* divisors = nullptr;  // of an average
  int count = 0;
  float* out = nullptr;
};

/// Some lanes of an output vector, out of one vector of an input.
struct ChannelPiece {
  int input = 0;
  std::int64_t vector = 0;      // of the input's channels
  std::int32_t lane[16] = {};   // where lane i comes from
  std::int32_t taken[16] = {};  // all bits set where lane i is of this piece
};

/// What the blocked operators have once per instruction set; as CpuKernels, whose rules hold.
struct BlockedKernels {
  int lanes = 0;
  int vectors_max = 0;  // of row_product
  void (*row_product)(const RowProduct&) = nullptr;
  void (*lanes_row)(const LanesRow&) = nullptr;
  BlockedWinograd winograd_2, winograd_4;
  /// `count` pixels of `channels` planes, `plane` floats apart, side by side.
  void (*interleave)(const float* from, std::int64_t plane, std::int64_t channels,
                     std::int64_t count, float* to) = nullptr;
  /// y = a op b for `pixels` pixels of a block, b one pixel; by Binary, of which planes have Add,
  /// Div, Mul, Sub.
  std::array<void (*)(const float* a, const float* b, float* y, std::int64_t pixels), kBinaries>
      binary{};
  void (*normalise)(const float* x, const PlaneNormalise& how, float* y,
                    std::int64_t pixels) = nullptr;
  void (*mean)(const float* x, std::int64_t pixels, float* y) = nullptr;  // y: one pixel
  /// x * sigmoid(x), or x * max(min(fma(alpha, x, beta), 1), 0); in place.
  void (*gate_sigmoid)(float* x, std::int64_t count) = nullptr;
  void (*gate_hard_sigmoid)(float* x, std::int64_t count, float alpha, float beta) = nullptr;
  /// One vector of channels for `pixels` pixels, all of them 16 floats apart.
  void (*gather_channels)(const ChannelPiece* pieces, const float* const* from, int count,
                          float* to, std::int64_t pixels) = nullptr;
  void (*maximum_row)(const PoolRow&) = nullptr;
  void (*average_row)(const PoolRow&) = nullptr;
};

const BlockedKernels& blocked_kernels_for(Isa isa);

}  // namespace commensal::kernels::cpu
