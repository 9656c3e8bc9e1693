// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/conv_taps.hpp>

namespace commensal::kernels::cpu {

namespace {

constexpr int kTileColumnsMax = 48;
using Runs = std::array<Run, kTileColumnsMax>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The elements of row `iy` that outputs [ox, ox + count) of one row read, shifted by `shift_x`.
Run clip(const ConvGeometry& g, std::int64_t iy, std::int64_t ox, std::int64_t count,
         std::int64_t shift_x) {
  const std::int64_t ix = ox * g.stride_x + shift_x;  // of the first output; perhaps outside
  const std::int64_t first = ix >= 0 ? 0 : ceil_div(-ix, g.stride_x);
  const std::int64_t end =
      ix >= g.in_width ? 0 : std::min(count, (g.in_width - 1 - ix) / g.stride_x + 1);
  if (iy < 0 || iy >= g.in_height || first >= end) return {};
  return {iy * g.in_width + ix + first * g.stride_x, static_cast<int>(first),
          static_cast<int>(end - first)};
}

/// Fills `runs` with what tap (ky, kx) contributes to columns [column, column + columns).
int runs_of(const ConvGeometry& g, std::int64_t tap, std::int64_t column, int columns, Runs& runs,
            int& covered) {
  const std::int64_t shift_y = tap / g.kernel_width * g.dilation_y - g.pad_top;
  const std::int64_t shift_x = tap % g.kernel_width * g.dilation_x - g.pad_left;
  std::int64_t oy = column / g.out_width, ox = column % g.out_width;
  int count = 0;
  covered = 0;
  for (int done = 0; done < columns; ++oy, ox = 0) {
    const auto here = std::min<std::int64_t>(g.out_width - ox, columns - done);
    Run run = clip(g, oy * g.stride_y + shift_y, ox, here, shift_x);
    if (run.count > 0) {
      run.to += done;
      covered += run.count;
      runs[static_cast<std::size_t>(count++)] = run;
    }
    done += static_cast<int>(here);
  }
  return count;
}

}  // namespace

bool ConvGeometry::padded() const {
  return pad_top > 0 || pad_left > 0 || pad_bottom > 0 || pad_right > 0;
}

bool ConvGeometry::is_pointwise() const {
  return kernel_height == 1 && kernel_width == 1 && stride_y == 1 && stride_x == 1 && !padded();
}

ConvGeometry geometry_of(const infer::Window& w) {
  const auto x = static_cast<std::size_t>(w.rank - 1);
  ConvGeometry g{.in_width = w.in[x],
                 .out_width = w.out[x],
                 .kernel_width = w.kernel[x],
                 .stride_x = w.stride[x],
                 .dilation_x = w.dilation[x],
                 .pad_left = w.pad_begin[x],
                 .pad_right = w.pad_end[x]};
  if (w.rank == 2) {
    g.in_height = w.in[0], g.out_height = w.out[0], g.kernel_height = w.kernel[0];
    g.stride_y = w.stride[0], g.dilation_y = w.dilation[0];
    g.pad_top = w.pad_begin[0], g.pad_bottom = w.pad_end[0];
  }
  return g;
}

Columns TapColumns::block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                          float* scratch) const {
  Runs runs;
  TapRows rows;
  rows.plane_step = geometry_->in_height * geometry_->in_width;
  rows.stride = geometry_->stride_x;
  rows.runs = runs.data();
  rows.panel = scratch;
  for (const std::int64_t end = k + depth; k < end; k += rows.channels) {
    const std::int64_t channel = k % channels_;
    int covered = 0;
    rows.run_count = runs_of(*geometry_, k / channels_, column, columns, runs, covered);
    rows.clear = covered < kernels_->tile_columns;
    rows.planes = planes_ + channel * rows.plane_step;
    rows.channels = std::min(channels_ - channel, end - k);
    kernels_->gather_taps(rows);
    rows.panel += rows.channels * kernels_->tile_columns;
  }
  return {scratch, kernels_->tile_columns};
}

}  // namespace commensal::kernels::cpu
