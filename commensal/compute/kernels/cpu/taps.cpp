// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/taps.hpp>

namespace commensal::kernels::cpu {

using shape_inference::Dims;

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
  if (w.rank >= 2) {
    const std::size_t y = x - 1;
    g.in_height = w.in[y], g.out_height = w.out[y], g.kernel_height = w.kernel[y];
    g.stride_y = w.stride[y], g.dilation_y = w.dilation[y];
    g.pad_top = w.pad_begin[y], g.pad_bottom = w.pad_end[y];
  }
  return g;
}

bool reads_outside(const shape_inference::Window& w) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
    if (w.pad_begin[d] > 0) return true;
    if (reach(w.out[d], w.stride[d], w.kernel[d], w.dilation[d]) > w.in[d]) return true;
  }
  return false;
}

bool TapLayout::suits(const shape_inference::Window& w) {
  constexpr std::int64_t kStrideMax = 64, kPadMax = 64, kTapsMax = 4096;
  constexpr std::int64_t kTimesMax = 4, kFew = 1 << 16;
  if (w.out_elements() == 0 || w.taps() > kTapsMax) return false;
  const std::int64_t most = kTimesMax * (w.in_elements() + w.out_elements()) + kFew;
  std::int64_t padded = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
    if (w.stride[d] > kStrideMax || std::max(w.pad_begin[d], w.pad_end[d]) > kPadMax) return false;
    const std::int64_t along = reach(w.out[d], w.stride[d], w.kernel[d], w.dilation[d]);
    if (__builtin_mul_overflow(padded, along, &padded) || padded > most) return false;
  }
  return true;
}

TapLayout::TapLayout(const shape_inference::Window& w) : geometry(Geometry::of(w)), window(w) {
  const Geometry& g = geometry;
  split.in_height = g.in_height, split.in_width = g.in_width;
  split.top = g.pad_top, split.left = g.pad_left;
  split.parts = g.stride_x;
  split.rows = reach(g.out_height, g.stride_y, g.kernel_height, g.dilation_y);
  split.width = (reach(g.out_width, g.stride_x, g.kernel_width, g.dilation_x) - 1) / g.stride_x + 1;
  row_step = g.stride_y * split.width;
  for (std::size_t d = 0; d < static_cast<std::size_t>(leading()); ++d) {
    slices_[d] = reach(w.out[d], w.stride[d], w.kernel[d], w.dilation[d]);
  }
  offsets.reserve(static_cast<std::size_t>(w.taps()));
  for (std::int64_t tap = 0; tap < w.taps(); ++tap) {
    const Dims at = w.split(tap, w.kernel);
    std::int64_t slice = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(leading()); ++d) {
      slice = slice * slices_[d] + at[d] * w.dilation[d];
    }
    const std::int64_t x = at[static_cast<std::size_t>(w.rank - 1)] * g.dilation_x;
    const std::int64_t y = tap / g.kernel_width % g.kernel_height * g.dilation_y;
    offsets.push_back(slice * slice_floats() + (x % g.stride_x * split.rows + y) * split.width +
                      x / g.stride_x);
  }
}

bool TapLayout::is_pointwise() const {
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    if (window.kernel[d] != 1 || window.stride[d] != 1) return false;
    if (window.pad_begin[d] > 0 || window.pad_end[d] > 0) return false;
  }
  return true;
}

std::int64_t TapLayout::plane_floats() const {
  std::int64_t floats = slice_floats();
  for (std::size_t d = 0; d < static_cast<std::size_t>(leading()); ++d) floats *= slices_[d];
  return floats;
}

std::int64_t TapLayout::out_slices() const {
  return window.out_elements() / (geometry.out_height * geometry.out_width);
}

std::int64_t TapLayout::slice(std::int64_t z) const {
  if (window.rank <= 2) return 0;
  const Dims at = window.split(z * geometry.out_height * geometry.out_width, window.out);
  std::int64_t slice = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(leading()); ++d) {
    slice = slice * slices_[d] + at[d] * window.stride[d];
  }
  return slice * slice_floats();
}

void TapLayout::fill(Pulse& pulse, const CpuKernels& kernels, const float* plane, float around,
                     float* to) const {
  PlaneSplit one = split;
  one.around = around;
  each_slice(pulse, [&](std::int64_t from, std::int64_t at, bool inside) {
    one.in_height = inside ? split.in_height : 0;
    one.plane = plane + from;
    one.to = to + at;
    kernels.split_plane(one);
  });
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

core::Result<float*> split_planes(const TapLayout& layout, const float* x, std::int64_t planes,
                                  Workspace& ws, Room& room) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const std::int64_t floats = layout.plane_floats(), from = layout.window.in_elements();
  COMMENSAL_ASSIGN(float* const made, room.of(ws.arena, planes * floats + kernels.lanes));
  ws.threads.run(planes, [&](std::int64_t i) {
    Pulse pulse(&ws.threads);
    layout.fill(pulse, kernels, x + i * from, 0.0f, made + i * floats);
  });
  return made;
}

void fold_pieces(Pulse& pulse, const TapPlane& whole,
                 const std::function<void(const TapPlane&, std::int64_t, std::int64_t)>& fold) {
  constexpr std::int64_t kTapsAtOnce = 1 << 24, kTapsInOne = 8;  // by vectors
  constexpr std::int64_t kRows = 6;                              // which the kernels take at once
  constexpr std::int64_t kPieceSteps = 8;                        // however small it is
  const std::int64_t at_once = std::max<std::int64_t>(kTapsAtOnce / std::max(whole.taps, 1), kRows);
  const std::int64_t width = std::min(whole.width, at_once / kRows);
  const std::int64_t rows = width < whole.width ? 1 : at_once / width / kRows * kRows;
  TapPlane plane = whole;
  for (std::int64_t y = 0; y < whole.height; y += rows) {
    plane.height = std::min(rows, whole.height - y);
    for (std::int64_t x = 0; x < whole.width; x += width) {
      plane.width = std::min(width, whole.width - x);
      plane.in = whole.in + y * whole.in_step + x;
      plane.out = whole.out + y * whole.width + x;
      if (whole.divisors != nullptr) plane.divisors = whole.divisors + y * whole.width + x;
      pulse(kPieceSteps + plane.height * plane.width * plane.taps / kTapsInOne);
      fold(plane, y, x);
    }
  }
}

void fold_taps(Pulse& pulse, const TapLayout& layout, const TapPlane& plane,
               void (*fold)(const TapPlane&)) {
  for (std::int64_t z = 0; z < layout.out_slices(); ++z) {
    TapPlane one = plane;
    const std::int64_t done = z * plane.height * plane.width;
    one.in += layout.slice(z);
    one.out += done;
    if (one.divisors != nullptr) one.divisors += done;
    fold_pieces(pulse, one,
                [&](const TapPlane& piece, std::int64_t, std::int64_t) { fold(piece); });
  }
}

Columns TapColumns::block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                          float* scratch) const {
  // The runs are those of a tap at offset 0; a tap shifts them all.
  std::array<Run, kTileColumnsMax> runs;
  TapRows rows;
  const std::int64_t width = layout_->geometry.out_width, height = layout_->geometry.out_height;
  std::int64_t y = column / width % height, x = column % width, z = column / width / height;
  std::int64_t slice = layout_->slice(z);
  for (int done = 0; done < columns; ++y, x = 0) {
    if (y == height) y = 0, slice = layout_->slice(++z);
    const auto here = static_cast<int>(std::min<std::int64_t>(width - x, columns - done));
    runs[static_cast<std::size_t>(rows.run_count++)] = {slice + y * layout_->row_step + x, done,
                                                        here};
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
