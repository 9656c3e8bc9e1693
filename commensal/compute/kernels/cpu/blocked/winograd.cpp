// SPDX-License-Identifier: Apache-2.0
// The Winograd clause on blocked pictures: tiles are transformed, multiplied point by point, and
// transformed back, some tiles at a time.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/conv.hpp>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

/// Transformed inputs and sums of the tiles in flight: about what the second-level cache holds.
constexpr std::int64_t kFloatsInFlight = 320 * 1024;
/// But enough tiles that the filters, which come from further away, are used a few times.
constexpr std::int64_t kTilesMin = 48;
/// Steps of depth between two stores of the accumulators.
constexpr std::int64_t kStepsMax = 1024;

/// Tiles in flight: [point][tile][channel], and the sums likewise.
struct Flight {
  Range tiles;
  float* inputs = nullptr;
  float* sums = nullptr;
};

class Winograd {
 public:
  Winograd(const BlockedConv& call, const BlockedWeights& weights, Workspace& ws)
      : call_(call),
        window_(call.conv.window),
        weights_(weights),
        panels_(weights.panels()),
        ws_(ws),
        kernels_(blocked_kernels_for(ws.isa)),
        in_(call.in()),
        out_(call.out()),
        side_(call.conv.winograd_tile),
        transforms_(side_ == 4 ? kernels_.winograd_4 : kernels_.winograd_2),
        points_((side_ + 2) * (side_ + 2)),
        down_(ceil_div(out_.height, side_)),
        across_(ceil_div(out_.width, side_)),
        in_step_(in_.blocks * kBlock),
        sum_step_(panels_.vectors() * kernels_.lanes) {}

  core::Result<void> run() {
    const std::int64_t tiles = out_.batch * down_ * across_;
    const std::int64_t fitting = kFloatsInFlight / (points_ * (in_step_ + sum_step_));
    const std::int64_t most = std::max(fitting, kTilesMin), threads = ws_.threads.threads();
    // What is larger, tiles or filters, is read by one thread only.
    const bool together = threads > 1 && tiles < panels_.vectors() * kernels_.lanes;
    std::int64_t flights = ceil_div(tiles, most);
    if (!together) flights = std::min(ceil_div(flights, threads) * threads, tiles);
    const std::int64_t at_once = ceil_div(tiles, flights);
    // A line more, so that a tile's points do not all compete for the same set of a cache.
    in_point_ = at_once * in_step_ + kBlock;
    sum_point_ = at_once * sum_step_ + kBlock;
    const std::int64_t floats = points_ * (in_point_ + sum_point_);
    const auto flight_of = [&](std::int64_t i, float* scratch) {
      return Flight{Range::part(i, flights, tiles), scratch, scratch + points_ * in_point_};
    };
    if (!together) {
      return run_with_scratch(ws_, flights, floats, [&](std::int64_t i, float* scratch) {
        fly_alone(flight_of(i, scratch));
      });
    }
    COMMENSAL_ASSIGN(const std::shared_ptr<float> scratch, floats_from(ws_.arena, floats));
    for (std::int64_t i = 0; i < flights; ++i) fly_together(flight_of(i, scratch.get()));
    return {};
  }

 private:
  void fly_alone(const Flight& flight) const {
    for (std::int64_t b = 0; b < in_.blocks; ++b) transform_in(flight, b, flight.tiles);
    for (int point = 0; point < points_; ++point) {
      ws_.threads.yield();  // many tiles of many channels are one flight of several milliseconds
      for (const Panels::Panel& panel : panels_.panels) multiply(flight, point, panel);
    }
    for (std::int64_t b = 0; b < out_.blocks; ++b) transform_out(flight, b, flight.tiles);
  }

  /// All threads do each of the three steps; of the filters each reads its own points'.
  void fly_together(const Flight& flight) const {
    transform(flight, in_.blocks, &Winograd::transform_in);
    const auto panels = static_cast<std::int64_t>(panels_.panels.size());
    ws_.threads.run(points_ * panels, [&](std::int64_t i) {
      multiply(flight, static_cast<int>(i / panels),
               panels_.panels[static_cast<std::size_t>(i % panels)]);
    });
    transform(flight, out_.blocks, &Winograd::transform_out);
  }

  /// Blocks, and where they are too few for all threads, tiles too, are the tasks.
  using TransformFn = void (Winograd::*)(const Flight&, std::int64_t block, Range tiles) const;
  void transform(const Flight& flight, std::int64_t blocks, TransformFn one) const {
    const std::int64_t count = flight.tiles.end - flight.tiles.begin;
    const std::int64_t parts =
        std::clamp<std::int64_t>(ceil_div(2 * ws_.threads.threads(), blocks), 1, count);
    ws_.threads.run(blocks * parts, [&](std::int64_t task) {
      const Range part = Range::part(task % parts, parts, count);
      const std::int64_t first = flight.tiles.begin;
      (this->*one)(flight, task / parts, {first + part.begin, first + part.end});
    });
  }

  struct Place {
    std::int64_t image, y, x;  // of the tile's first output pixel
  };
  Place place_of(std::int64_t tile) const {
    const std::int64_t row = tile / across_;
    return {row / down_, row % down_ * side_, tile % across_ * side_};
  }

  void transform_in(const Flight& flight, std::int64_t block, Range tiles) const {
    const int side = side_ + 2;
    float patch[6 * 6 * kBlock];
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      const Place at = place_of(tile);
      const std::int64_t y = at.y - window_.pad_begin[0], x = at.x - window_.pad_begin[1];
      const float* const plane = call_.x + at.image * in_.image() + block * in_.plane();
      BlockedTileIn t;
      t.out = flight.inputs + (tile - flight.tiles.begin) * in_step_ + block * kBlock;
      t.point_step = in_point_;
      if (y >= 0 && x >= 0 && y + side <= in_.height && x + side <= in_.width) {
        t.patch = plane + (y * in_.width + x) * kBlock;
        t.row_step = in_.width * kBlock;
      } else {
        cut_patch(plane, y, x, patch);
        t.patch = patch;
        t.row_step = side * kBlock;
      }
      transforms_.input(t);
    }
  }

  /// A patch that reaches beyond the picture: +0 there.
  void cut_patch(const float* plane, std::int64_t y, std::int64_t x, float* patch) const {
    const std::int64_t side = side_ + 2;
    std::fill(patch, patch + side * side * kBlock, 0.0f);
    const std::int64_t x_begin = std::clamp<std::int64_t>(-x, 0, side);
    const std::int64_t x_end = std::clamp<std::int64_t>(in_.width - x, x_begin, side);
    for (std::int64_t i = 0; i < side; ++i) {
      if (y + i < 0 || y + i >= in_.height || x_begin == x_end) continue;
      std::memcpy(patch + (i * side + x_begin) * kBlock,
                  plane + ((y + i) * in_.width + x + x_begin) * kBlock,
                  static_cast<std::size_t>((x_end - x_begin) * kBlock) * sizeof(float));
    }
  }

  void multiply(const Flight& flight, int point, const Panels::Panel& panel) const {
    std::int64_t c_vectors[8];
    for (int v = 0; v < panel.vectors; ++v) c_vectors[v] = (panel.vector + v) * kernels_.lanes;
    RowProduct p;
    p.a_step = in_step_;
    p.c = flight.sums + point * sum_point_;
    p.c_step = sum_step_;
    p.c_vectors = c_vectors;
    p.rows = static_cast<int>(flight.tiles.end - flight.tiles.begin);
    p.vectors = panel.vectors;
    p.last = kernels_.lanes;
    p.run_count = 1;
    for (std::int64_t k = 0; k < panels_.depth; k += kStepsMax) {
      const DepthRun run{0, std::min(kStepsMax, panels_.depth - k)};
      p.runs = &run;
      p.a = flight.inputs + point * in_point_ + k;
      p.b = weights_.matrix(point) + panels_.offset(panel, k);
      p.next = p.b + run.count * panel.vectors * kernels_.lanes;  // the next panel or point
      p.resume = k > 0;
      kernels_.row_product(p);
    }
  }

  void transform_out(const Flight& flight, std::int64_t block, Range tiles) const {
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      const Place at = place_of(tile);
      const std::int64_t to =
          at.image * out_.image() + block * out_.plane() + (at.y * out_.width + at.x) * kBlock;
      BlockedTileOut t;
      t.sums = flight.sums + (tile - flight.tiles.begin) * sum_step_ + block * kBlock;
      t.point_step = sum_point_;
      t.out = call_.y + to;
      t.row_step = out_.width * kBlock;
      t.height = static_cast<int>(std::min<std::int64_t>(side_, out_.height - at.y));
      t.width = static_cast<int>(std::min<std::int64_t>(side_, out_.width - at.x));
      t.how = call_.finish;
      t.how.bias = call_.finish.bias + block * kBlock;
      if (t.how.residual != nullptr) t.how.residual += to;
      transforms_.output(t);
      for (int y = 0; y < t.height; ++y) {
        call_.pass_gate(kernels_, t.out + y * t.row_step, t.width * kBlock);
      }
    }
  }

  // Constant after construction.
  const BlockedConv& call_;
  const shape_inference::Window& window_;
  const BlockedWeights& weights_;
  const Panels& panels_;
  Workspace& ws_;
  const BlockedKernels& kernels_;
  const BlockedShape in_, out_;
  const int side_;
  const BlockedWinograd& transforms_;
  const int points_;
  const std::int64_t down_, across_;       // tiles of an image
  const std::int64_t in_step_, sum_step_;  // floats of a tile

  std::int64_t in_point_ = 0, sum_point_ = 0;  // floats between points
};

}  // namespace

core::Result<void> blocked_winograd(const BlockedConv& conv, const BlockedWeights& w,
                                    Workspace& ws) {
  return Winograd(conv, w, ws).run();
}

}  // namespace commensal::kernels::cpu
