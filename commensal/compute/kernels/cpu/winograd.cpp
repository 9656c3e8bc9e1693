// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/winograd.hpp>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

/// The transformed inputs and sums of a block should stay in the second-level cache.
constexpr std::int64_t kBlockFloats = 320 * 1024;
/// But a block has tiles enough to fill the columns of a product.
constexpr std::int64_t kBlockTilesMin = 48;

/// Tile rows of one image, [first, first + count), whose tiles begin at `tile` in their block.
struct TileRows {
  std::int64_t image = 0, first = 0, count = 0, tile = 0;
};

/// One call, block by block: the tile rows of all images one after another are cut into blocks;
/// each is transformed, multiplied point by point, and transformed back.
class Winograd {
 public:
  Winograd(const shape_inference::Conv& conv, const Call& call, const ConvWeights& weights,
           Tensor& output, Workspace& ws)
      : conv_(conv),
        weights_(weights),
        ws_(ws),
        kernels_(kernels_for(ws.isa)),
        transforms_(conv.winograd_tile == 4 ? kernels_.winograd_4 : kernels_.winograd_2),
        side_(conv.winograd_tile),
        points_((side_ + 2) * (side_ + 2)),
        x_(call.in(0).data<float>().data()),
        bias_(conv.has_bias ? call.in(2).data<float>().data() : nullptr),
        y_(output.mutable_data<float>().data()),
        image_rows_(ceil_div(conv.window.out[0], side_)),
        across_(ceil_div(conv.window.out[1], side_)) {}

  core::Result<void> run() {
    const std::int64_t rows = conv_.batch * image_rows_;
    const std::int64_t fitting = kBlockFloats / (points_ * (conv_.channels + conv_.out_channels));
    const std::int64_t block_rows =
        std::clamp<std::int64_t>(std::max(fitting, kBlockTilesMin) / across_, 1, rows);
    pitch_ = ceil_div(block_rows * across_, kernels_.lanes) * kernels_.lanes;
    // A line more, so that a tile's points do not all compete for the same set of a cache.
    constexpr std::int64_t kLineFloats = 16;
    input_step_ = conv_.channels * pitch_ + kLineFloats;
    sum_step_ = conv_.out_channels * pitch_ + kLineFloats;
    COMMENSAL_ASSIGN(inputs_, floats_from(ws_.arena, points_ * input_step_));
    COMMENSAL_ASSIGN(sums_, floats_from(ws_.arena, points_ * sum_step_ + kernels_.lanes));
    for (std::int64_t row = 0; row < rows; row += block_rows) {
      COMMENSAL_TRY(run_block(row, std::min(block_rows, rows - row)));
    }
    return {};
  }

 private:
  core::Result<void> run_block(std::int64_t row, std::int64_t rows) {
    std::vector<TileRows> parts;
    for (const std::int64_t begin = row, end = row + rows; row < end; row += parts.back().count) {
      const std::int64_t first = row % image_rows_;
      parts.push_back({row / image_rows_, first, std::min(image_rows_ - first, end - row),
                       (row - begin) * across_});
    }
    const std::int64_t tiles = rows * across_;
    COMMENSAL_TRY(transform_inputs(parts, tiles));
    COMMENSAL_TRY(multiply_points(tiles));
    transform_outputs(parts);
    return {};
  }

  core::Result<void> transform_inputs(const std::vector<TileRows>& parts, std::int64_t tiles) {
    const shape_inference::Window& w = conv_.window;
    std::int64_t rows_max = 0;
    for (const TileRows& part : parts) rows_max = std::max(rows_max, part.count);
    PlaneSplit split;
    split.in_height = w.in[0], split.in_width = w.in[1];
    split.left = w.pad_begin[1];
    split.parts = side_;
    split.width = across_ + 1;
    const std::int64_t floats = (rows_max * side_ + 2) * split.width * side_ + kernels_.lanes;
    const auto transform = [&](std::int64_t channel, float* scratch) {
      float* const out = inputs_.get() + channel * pitch_;
      for (const TileRows& part : parts) {
        PlaneSplit one = split;
        one.plane = x_ + (part.image * conv_.channels + channel) * w.in_elements();
        one.top = w.pad_begin[0] - part.first * side_;
        one.rows = part.count * side_ + 2;
        one.to = scratch;
        kernels_.split_plane(one);
        transforms_.input({.parts = scratch,
                           .part_step = one.rows * one.width,
                           .row_step = one.width,
                           .tile_rows = part.count,
                           .tiles_across = across_,
                           .out = out + part.tile,
                           .point_step = input_step_});
      }
      for (int p = 0; p < points_; ++p) {  // what is multiplied but never used
        std::fill(out + p * input_step_ + tiles, out + p * input_step_ + pitch_, 0.0f);
      }
    };
    return run_with_scratch(ws_, conv_.channels, floats, transform);
  }

  core::Result<void> multiply_points(std::int64_t tiles) {
    std::vector<MatrixColumns> columns;
    std::vector<Product> products;
    columns.reserve(static_cast<std::size_t>(points_));
    for (int p = 0; p < points_; ++p) {
      columns.emplace_back(kernels_, inputs_.get() + p * input_step_, pitch_, 1, true);
      COMMENSAL_ASSIGN(const Rows filters, weights_.point_rows(side_, p, ws_.threads));
      products.push_back(
          {.a = filters, .b = &columns.back(), .c = sums_.get() + p * sum_step_, .c_step = pitch_});
    }
    return multiply(
        {.rows = conv_.out_channels, .depth = conv_.channels, .columns = tiles, .finish = false},
        products, ws_);
  }

  void transform_outputs(const std::vector<TileRows>& parts) {
    const std::int64_t height = conv_.window.out[0], width = conv_.window.out[1];
    ws_.threads.run(conv_.out_channels, [&](std::int64_t o) {
      for (const TileRows& part : parts) {
        const std::int64_t top = part.first * side_;
        transforms_.output(
            {.sums = sums_.get() + o * pitch_ + part.tile,
             .point_step = sum_step_,
             .tile_rows = part.count,
             .tiles_across = across_,
             .bias = bias_ == nullptr ? 0.0f : bias_[o],
             .out = y_ + ((part.image * conv_.out_channels + o) * height + top) * width,
             .height = height - top,
             .width = width});
      }
    });
  }

  // Constant after construction.
  const shape_inference::Conv& conv_;
  const ConvWeights& weights_;
  Workspace& ws_;
  const CpuKernels& kernels_;
  const WinogradKernels& transforms_;
  const int side_, points_;
  const float* const x_;
  const float* const bias_;
  float* const y_;
  const std::int64_t image_rows_, across_;  // tiles of an image

  std::int64_t pitch_ = 0;                      // tiles of a block, in whole vectors
  std::int64_t input_step_ = 0, sum_step_ = 0;  // between points
  std::shared_ptr<float> inputs_;               // [point][channel][pitch]
  std::shared_ptr<float> sums_;                 // [point][output channel][pitch]
};

}  // namespace

core::Result<void> winograd(const shape_inference::Conv& conv, const Call& call,
                            const ConvWeights& weights, Tensor& output, Workspace& ws) {
  return Winograd(conv, call, weights, output, ws).run();
}

}  // namespace commensal::kernels::cpu
