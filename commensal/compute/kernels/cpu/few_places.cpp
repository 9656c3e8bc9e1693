// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <commensal/compute/kernels/cpu/few_places.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <limits>

namespace commensal::kernels::cpu {

namespace {

using Tile = FewPlacesTile;

/// Steps whose weights stay in the first cache while rows pass by.
constexpr std::int64_t kPieceSteps = 512;
/// Tiles of rows that stay in the second cache while columns pass by.
constexpr std::int64_t kTaskTiles = 48;

/// Sizes of a call, and where its pictures are laid: channels last, with their padding.
struct FewPlaces {
  Geometry g;
  std::int64_t batch, channels, out_channels, places;
  std::int64_t height, width;  // of a picture that is laid
  std::int64_t line, columns, panels, tiles;

  FewPlaces(const shape_inference::Conv& conv, int columns_a_panel)
      : g(Geometry::of(conv.window)),
        batch(conv.batch),
        channels(conv.channels),
        out_channels(conv.out_channels),
        places(conv.window.out_elements()),
        height((g.out_height - 1) * g.stride_y + (g.kernel_height - 1) * g.dilation_y + 1),
        width((g.out_width - 1) * g.stride_x + (g.kernel_width - 1) * g.dilation_x + 1),
        line(width * channels),
        columns(columns_a_panel),
        panels(ceil_div(out_channels, columns)),
        tiles(ceil_div(batch * places, Tile::kRows)) {}

  std::int64_t taps() const { return g.kernel_height * g.kernel_width; }
  std::int64_t picture() const { return height * line; }
  std::int64_t panel() const { return taps() * channels * columns; }
  /// Of row `row`: picture and place.
  std::int64_t offset(std::int64_t row) const {
    const std::int64_t place = row % places;
    return row / places * picture() + place / g.out_width * g.stride_y * line +
           place % g.out_width * g.stride_x * channels;
  }
};

void lay_picture(Pulse& pulse, const FewPlaces& f, const float* from, float* to) {
  const std::int64_t plane = f.g.in_height * f.g.in_width;
  for (std::int64_t y = 0; y < f.height; ++y, to += f.line) {
    pulse(f.line);
    const std::int64_t in_y = y - f.g.pad_top;
    if (in_y < 0 || in_y >= f.g.in_height) {
      std::fill_n(to, f.line, 0.0f);
      continue;
    }
    const std::int64_t begin = std::clamp<std::int64_t>(f.g.pad_left, 0, f.width);
    const std::int64_t end = std::clamp(f.g.in_width + f.g.pad_left, begin, f.width);
    std::fill(to, to + begin * f.channels, 0.0f);
    std::fill(to + end * f.channels, to + f.line, 0.0f);
    const float* const row = from + in_y * f.g.in_width - f.g.pad_left;
    for (std::int64_t x = begin; x < end; ++x) {
      for (std::int64_t c = 0; c < f.channels; ++c) to[x * f.channels + c] = row[c * plane + x];
    }
  }
}

/// Panel p: for each step, the weights of its columns; +0 beyond the last. False where one is
/// infinite or no number.
bool lay_panel(Pulse& pulse, const FewPlaces& f, const float* weights, std::int64_t p, float* to) {
  const std::int64_t taps = f.taps(), first = p * f.columns;
  const std::int64_t count = std::min(f.columns, f.out_channels - first);
  bool finite = true;
  for (std::int64_t y = 0; y < f.g.kernel_height; ++y) {
    for (std::int64_t c = 0; c < f.channels; ++c) {
      const float* const from = weights + (first * f.channels + c) * taps + y * f.g.kernel_width;
      pulse(f.g.kernel_width * f.columns);
      for (std::int64_t x = 0; x < f.g.kernel_width; ++x) {
        float* const step = to + ((y * f.g.kernel_width + x) * f.channels + c) * f.columns;
        for (std::int64_t o = 0; o < count; ++o) {
          step[o] = from[o * f.channels * taps + x];
          finite = finite && std::isfinite(step[o]);
        }
        std::fill(step + count, step + f.columns, 0.0f);
      }
    }
  }
  return finite;
}

/// A part of the window: lines of taps.
struct Piece {
  std::int64_t y = 0, x = 0, height = 0, width = 0;
};
std::vector<Piece> pieces_of(const FewPlaces& f) {
  const std::int64_t width =
      std::clamp<std::int64_t>(kPieceSteps / f.channels, 1, f.g.kernel_width);
  const std::int64_t height =
      width < f.g.kernel_width
          ? 1
          : std::clamp<std::int64_t>(kPieceSteps / (width * f.channels), 1, f.g.kernel_height);
  std::vector<Piece> made;
  for (std::int64_t y = 0; y < f.g.kernel_height; y += height) {
    for (std::int64_t x = 0; x < f.g.kernel_width; x += width) {
      made.push_back(
          {y, x, std::min(height, f.g.kernel_height - y), std::min(width, f.g.kernel_width - x)});
    }
  }
  return made;
}

/// Where a tile of rows is to be computed.
struct Laid {
  const float *pictures, *panels;
  float* sums;
};

Tile tile_of(const FewPlaces& f, const Laid& laid, const Piece& piece, std::int64_t t,
             std::int64_t p) {
  Tile tile;
  const std::int64_t last = f.batch * f.places - 1;
  const std::int64_t at = piece.y * f.g.dilation_y * f.line + piece.x * f.g.dilation_x * f.channels;
  for (int r = 0; r < Tile::kRows; ++r)
    tile.rows[r] = laid.pictures + f.offset(std::min(t * Tile::kRows + r, last)) + at;
  const bool joined = f.g.dilation_x == 1;  // taps lie side by side
  tile.height = piece.height;
  tile.width = joined ? 1 : piece.width;
  tile.channels = joined ? piece.width * f.channels : f.channels;
  tile.line_step = f.g.dilation_y * f.line;
  tile.tap_step = f.g.dilation_x * f.channels;
  const std::int64_t step = f.channels * f.columns;
  tile.weights = laid.panels + p * f.panel() + (piece.y * f.g.kernel_width + piece.x) * step;
  tile.weights_line_step = f.g.kernel_width * step;
  tile.sums = laid.sums + (t * f.panels + p) * Tile::kRows * f.columns;
  tile.resume = piece.y != 0 || piece.x != 0;
  return tile;
}

/// The chains end: bias or +0, canonical NaN.
void store_tile(const FewPlaces& f, const float* sums, const float* bias, std::int64_t t,
                std::int64_t p, float* y) {
  const std::int64_t rows =
      std::min<std::int64_t>(Tile::kRows, f.batch * f.places - t * Tile::kRows);
  const std::int64_t first = p * f.columns, count = std::min(f.columns, f.out_channels - first);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = t * Tile::kRows + r;
    float* const to = y + (row / f.places * f.out_channels + first) * f.places + row % f.places;
    for (std::int64_t o = 0; o < count; ++o) {
      const float more = bias == nullptr || bias[first + o] == 0 ? 0.0f : bias[first + o];
      const float made = sums[r * f.columns + o] + more;
      to[o * f.places] = std::isnan(made) ? std::numeric_limits<float>::quiet_NaN() : made;
    }
  }
}

}  // namespace

bool suits_few_places(const shape_inference::Conv& conv) {
  constexpr std::int64_t kLeast = 4;  // taps for each place, and channels of output
  if (conv.window.rank > 2 || conv.group != 1 || conv.winograd_tile != 0) return false;
  if (conv.channels == 0 || conv.out_channels < kLeast) return false;
  const std::int64_t places = conv.window.out_elements();
  if (conv.window.taps() < kLeast * places || conv.batch * places < Tile::kRows) return false;
  const FewPlaces f(conv, 1);
  return f.height <= 2 * f.g.in_height && f.width <= 2 * f.g.in_width;
}

core::Result<bool> conv_of_few_places(const shape_inference::Conv& conv, const Call& call,
                                      Tensor& output, Workspace& ws) {
  const FewPlacesKernels& kernels = few_places_kernels_for(ws.isa);
  const FewPlaces f(conv, kernels.columns);
  COMMENSAL_ASSIGN(const auto panels, floats_from(ws.arena, f.panels * f.panel()));
  const float* const w = call.in(1).data<float>().data();
  std::atomic<bool> finite = true;
  ws.threads.run(f.panels, [&](std::int64_t p) {
    Pulse pulse(&ws.threads);
    if (!lay_panel(pulse, f, w, p, panels.get() + p * f.panel())) finite = false;
  });
  if (!finite && reads_outside(conv.window)) return false;
  COMMENSAL_ASSIGN(const auto pictures, floats_from(ws.arena, f.batch * f.picture()));
  COMMENSAL_ASSIGN(const auto sums,
                   floats_from(ws.arena, f.tiles * f.panels * Tile::kRows * f.columns));
  const float* const x = call.in(0).data<float>().data();
  ws.threads.run(f.batch, [&](std::int64_t b) {
    Pulse pulse(&ws.threads);
    lay_picture(pulse, f, x + b * conv.channels * conv.window.in_elements(),
                pictures.get() + b * f.picture());
  });
  const float* const bias = conv.has_bias ? call.in(2).data<float>().data() : nullptr;
  float* const y = output.mutable_data<float>().data();
  const Laid laid = {pictures.get(), panels.get(), sums.get()};
  const std::vector<Piece> pieces = pieces_of(f);
  const std::int64_t a_task = std::clamp<std::int64_t>(
      f.tiles / std::max<std::int64_t>(1, 4 * (ws.threads.threads() - 1)), 1, kTaskTiles);
  ws.threads.run(ceil_div(f.tiles, a_task), [&](std::int64_t task) {
    Pulse pulse(&ws.threads);
    const std::int64_t first = task * a_task, last = std::min(first + a_task, f.tiles);
    for (const Piece& piece : pieces) {
      for (std::int64_t p = 0; p < f.panels; ++p) {
        for (std::int64_t t = first; t < last; ++t) {
          kernels.add(tile_of(f, laid, piece, t, p));
          pulse(piece.height * piece.width * f.channels);
        }
      }
    }
    for (std::int64_t t = first; t < last; ++t) {
      for (std::int64_t p = 0; p < f.panels; ++p) {
        pulse(Tile::kRows * f.columns);
        store_tile(f, sums.get() + (t * f.panels + p) * Tile::kRows * f.columns, bias, t, p, y);
      }
    }
  });
  return true;
}

}  // namespace commensal::kernels::cpu
