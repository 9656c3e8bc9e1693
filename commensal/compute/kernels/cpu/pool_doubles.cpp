// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/pool_call.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>

namespace commensal::kernels::cpu {

namespace {

/// A slice of keys, padded and taken apart by columns as PlaneSplit says; not `inside`: none of it
/// is there.
void split_keys(const PlaneSplit& s, const std::int64_t* keys, bool inside, std::int64_t* to) {
  std::fill_n(to, s.parts * s.rows * s.width, PlacedWindows::kNoKey);
  if (!inside) return;
  const std::int64_t rows = std::min(s.in_height, s.rows - s.top);
  const std::int64_t columns = std::min(s.in_width, s.width * s.parts - s.left);
  for (std::int64_t y = 0; y < rows; ++y) {
    std::int64_t part = s.left % s.parts, x = s.left / s.parts;
    for (std::int64_t i = 0; i < columns; ++i) {
      to[(part * s.rows + y + s.top) * s.width + x] = keys[y * s.in_width + i];
      if (++part == s.parts) part = 0, ++x;
    }
  }
}

}  // namespace

core::Result<void> max_pool_doubles_with_places(const PoolCall& made, const Call& call,
                                                std::span<Tensor> outputs, Workspace& ws) {
  const TapLayout& layout = *made.layout;
  const PoolPlaces& places = *made.places;
  const Geometry& g = layout.geometry;
  const std::int64_t in = made.pool.window.in_elements(), out = made.pool.window.out_elements();
  const double* const x = call.in(0).data<double>().data();
  double* const y = outputs[0].mutable_data<double>().data();
  std::int64_t* const indices = outputs[1].mutable_data<std::int64_t>().data();
  const auto keys_of = window_kernels_for<double>(ws.isa).keys;
  const std::int64_t keyed = in + WindowLines<double>::kSlack;
  constexpr std::int64_t kFloats = sizeof(std::int64_t) / sizeof(float), kPiece = 1 << 14;
  const std::int64_t floats = kFloats * (keyed + layout.plane_floats() + PlacedWindows::kSlack);
  return run_with_scratch(ws, made.pool.planes, floats, [&](std::int64_t i, float* scratch) {
    Pulse pulse(&ws.threads);
    auto* const keys = reinterpret_cast<std::int64_t*>(scratch);
    std::int64_t* const split = keys + keyed;
    for (std::int64_t at = 0; at < in; at += kPiece) {
      keys_of(x + i * in + at, keys + at, std::min(kPiece, in - at));
      pulse(std::min(kPiece, in - at));
    }
    layout.each_slice(pulse, [&](std::int64_t from, std::int64_t to, bool inside) {
      split_keys(layout.split, keys + from, inside, split + to);
    });
    PlacedWindows row;
    row.offsets = layout.offsets.data(), row.positions = places.taps.data();
    row.taps = static_cast<int>(layout.offsets.size());
    row.step = places.column_step, row.base = i * in;
    const std::int64_t at_once = std::max<std::int64_t>(8 * kPiece / row.taps, 1);
    for (std::int64_t line = 0; line < out / g.out_width; ++line) {
      const std::int64_t z = line / g.out_height, row_of = line % g.out_height;
      const std::uint32_t first = places.slice(z * g.out_height * g.out_width);
      for (std::int64_t column = 0; column < g.out_width; column += at_once) {
        row.count = std::min(at_once, g.out_width - column);
        row.keys = split + layout.slice(z) + row_of * layout.row_step + column;
        row.start = first + static_cast<std::uint32_t>(row_of) * places.row_step +
                    static_cast<std::uint32_t>(column) * places.column_step;
        row.y = y + i * out + line * g.out_width + column;
        row.places = indices + i * out + line * g.out_width + column;
        placed_maxima(ws.isa, row);
        pulse(8 + row.count * row.taps / 4);
      }
    }
  });
}

}  // namespace commensal::kernels::cpu
