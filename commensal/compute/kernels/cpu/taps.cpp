// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/pulse.hpp>

namespace commensal::kernels::cpu {

namespace {

constexpr int kTileColumnsMax = 48;

/// What the last window reaches, in padded elements.
std::int64_t reach(std::int64_t out, std::int64_t stride, std::int64_t kernel,
                   std::int64_t dilation) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1;
}

}  // namespace

Geometry Geometry::of(const shape_inference::Window& w) {
  const auto x = static_cast<std::size_t>(w.rank - 1);
  Geometry g{.in_width = w.in[x],
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

bool Geometry::padded() const {
  return pad_top > 0 || pad_left > 0 || pad_bottom > 0 || pad_right > 0;
}

bool Geometry::is_pointwise() const {
  return kernel_height == 1 && kernel_width == 1 && stride_y == 1 && stride_x == 1 && !padded();
}

bool TapLayout::suits(const shape_inference::Window& window) {
  constexpr std::int64_t kStrideMax = 64, kPadMax = 64, kTapsMax = 4096;
  if (window.rank > 2 || window.out_elements() == 0) return false;
  const Geometry g = Geometry::of(window);
  return std::max(g.stride_x, g.stride_y) <= kStrideMax &&
         std::max({g.pad_top, g.pad_left, g.pad_bottom, g.pad_right}) <= kPadMax &&
         g.kernel_height * g.kernel_width <= kTapsMax;
}

TapLayout::TapLayout(const shape_inference::Window& window) : geometry(Geometry::of(window)) {
  const Geometry& g = geometry;
  split.in_height = g.in_height, split.in_width = g.in_width;
  split.top = g.pad_top, split.left = g.pad_left;
  split.parts = g.stride_x;
  split.rows = reach(g.out_height, g.stride_y, g.kernel_height, g.dilation_y);
  split.width = (reach(g.out_width, g.stride_x, g.kernel_width, g.dilation_x) - 1) / g.stride_x + 1;
  row_step = g.stride_y * split.width;
  for (std::int64_t ky = 0; ky < g.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < g.kernel_width; ++kx) {
      const std::int64_t x = kx * g.dilation_x;
      offsets.push_back((x % g.stride_x * split.rows + ky * g.dilation_y) * split.width +
                        x / g.stride_x);
    }
  }
}

void TapLayout::fill(const CpuKernels& kernels, const float* plane, float around, float* to) const {
  PlaneSplit one = split;
  one.plane = plane;
  one.around = around;
  one.to = to;
  kernels.split_plane(one);
}

TapPlane TapLayout::plane(const float* in, float* out) const {
  TapPlane plane;
  plane.in = in;
  plane.in_step = row_step;
  plane.offsets = offsets.data();
  plane.taps = static_cast<int>(offsets.size());
  plane.out = out;
  plane.height = geometry.out_height;
  plane.width = geometry.out_width;
  return plane;
}

void fold_taps(const ThreadPool& threads, TapPlane plane, void (*fold)(const TapPlane&)) {
  constexpr std::int64_t kTapsAtOnce = 1 << 24, kTapsInOne = 8;  // by vectors
  constexpr std::int64_t kRows = 6;                              // which the kernels take at once
  Pulse pulse(&threads);
  const std::int64_t at_once = std::max<std::int64_t>(kTapsAtOnce / std::max(plane.taps, 1), kRows);
  const std::int64_t width = std::min(plane.width, at_once / kRows);
  const std::int64_t rows = width < plane.width ? 1 : at_once / width / kRows * kRows;
  const TapPlane whole = plane;
  for (std::int64_t y = 0; y < whole.height; y += rows) {
    plane.height = std::min(rows, whole.height - y);
    for (std::int64_t x = 0; x < whole.width; x += width) {
      plane.width = std::min(width, whole.width - x);
      plane.in = whole.in + y * whole.in_step + x;
      plane.out = whole.out + y * whole.width + x;
      if (whole.divisors != nullptr) plane.divisors = whole.divisors + y * whole.width + x;
      pulse(plane.height * plane.width * plane.taps / kTapsInOne);
      fold(plane);
    }
  }
}

Columns TapColumns::block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                          float* scratch) const {
  // The runs are those of a tap at offset 0; a tap shifts them all.
  std::array<Run, kTileColumnsMax> runs;
  TapRows rows;
  const std::int64_t width = layout_->geometry.out_width;
  std::int64_t y = column / width, x = column % width;
  for (int done = 0; done < columns; ++y, x = 0) {
    const auto here = static_cast<int>(std::min<std::int64_t>(width - x, columns - done));
    runs[static_cast<std::size_t>(rows.run_count++)] = {y * layout_->row_step + x, done, here};
    done += here;
  }
  rows.runs = runs.data();
  rows.plane_step = layout_->plane_floats();
  rows.panel = scratch;
  rows.panel_step = kernels_->tile_columns;
  auto tap = static_cast<std::size_t>(k / channels_);
  std::int64_t channel = k % channels_;
  for (const std::int64_t end = k + depth; k < end; k += rows.channels, ++tap, channel = 0) {
    rows.planes = planes_ + channel * rows.plane_step + layout_->offsets[tap];
    rows.channels = std::min(channels_ - channel, end - k);
    kernels_->gather_taps(rows);
    rows.panel += rows.channels * rows.panel_step;
  }
  return {scratch, rows.panel_step};
}

}  // namespace commensal::kernels::cpu
