// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/math/winograd.hpp>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/winograd.hpp>

namespace commensal::kernels::ref {
namespace {

using math::ScalarLanes;
using math::winograd_filter;
using shape_inference::Conv;

constexpr int kPointsMax = 36;

struct Tile {
  std::int64_t image = 0, top = 0, left = 0;  // of its outputs
};

int points_of(const Conv& conv) { return (conv.winograd_tile + 2) * (conv.winograd_tile + 2); }

// Offset in the image of the tile's input (y, x), or -1 outside of it.
std::int64_t input_at(const Conv& conv, const Tile& tile, int y, int x) {
  const auto& w = conv.window;
  const std::int64_t row = tile.top - w.pad_begin[0] + y, column = tile.left - w.pad_begin[1] + x;
  const bool inside = row >= 0 && row < w.in[0] && column >= 0 && column < w.in[1];
  return inside ? row * w.in[1] + column : -1;
}

// Transforms the tile's input of one channel; elements outside of the image are +0.
void transform_input(const Conv& conv, const Tile& tile, std::int64_t channel, const float* x,
                     float* v) {
  float d[kPointsMax];
  const int side = conv.winograd_tile + 2;
  const float* plane = x + (tile.image * conv.channels + channel) * conv.window.in_elements();
  for (int i = 0; i < side * side; ++i) {
    const std::int64_t at = input_at(conv, tile, i / side, i % side);
    d[i] = at < 0 ? 0.0f : plane[at];
  }
  if (conv.winograd_tile == 4) return math::winograd_input<ScalarLanes, 4>(d, v);
  math::winograd_input<ScalarLanes, 2>(d, v);
}

void transform_output(const Conv& conv, const float* sums, float* y) {
  if (conv.winograd_tile == 4) return math::winograd_output<ScalarLanes, 4>(sums, y);
  math::winograd_output<ScalarLanes, 2>(sums, y);
}

float bias_of(const Conv& conv, const Call& call, std::int64_t out_channel) {
  return conv.has_bias ? paced<float>(call, 2)[static_cast<std::size_t>(out_channel)] : 0.0f;
}

// Element `index`: its tile, output channel and place in the tile.
struct Place {
  Tile tile;
  std::int64_t out_channel = 0;
  int in_tile = 0;
};

Place place_of(const Conv& conv, std::int64_t index) {
  const std::int64_t height = conv.window.out[0], width = conv.window.out[1];
  const std::int64_t column = index % width, row = index / width % height;
  const std::int64_t plane = index / (width * height), m = conv.winograd_tile;
  Place place;
  place.tile = {plane / conv.out_channels, row / m * m, column / m * m};
  place.out_channel = plane % conv.out_channels;
  place.in_tile = static_cast<int>(row % m * m + column % m);
  return place;
}

// The chain of one point over the first `channels` channels.
float point_sum(const Conv& conv, const Call& call, const Place& place, int point,
                std::int64_t channels) {
  const float* x = paced<float>(call, 0).data();
  const float* w = paced<float>(call, 1).data() + place.out_channel * conv.channels * 9;
  float acc = 0.0f, u[kPointsMax], v[kPointsMax];
  for (std::int64_t c = 0; c < channels; ++c) {
    winograd_filter(conv.winograd_tile, w + c * 9, u);
    transform_input(conv, place.tile, c, x, v);
    acc = step(u[point], v[point], acc);
  }
  return acc;
}

// All filters, transformed: [point][channel][output channel].
std::vector<float> transform_filters(const Conv& conv, Pulse& pulse, const float* w) {
  const int points = points_of(conv);
  std::vector<float> u(static_cast<std::size_t>(points * conv.channels * conv.out_channels));
  float one[kPointsMax];
  for (std::int64_t o = 0; o < conv.out_channels; ++o) {
    for (std::int64_t c = 0; c < conv.channels; ++c) {
      pulse(128);
      winograd_filter(conv.winograd_tile, w + (o * conv.channels + c) * 9, one);
      for (int p = 0; p < points; ++p) {
        u[static_cast<std::size_t>((p * conv.channels + c) * conv.out_channels + o)] = one[p];
      }
    }
  }
  return u;
}

void store_tile(const Conv& conv, const Call& call, const Tile& tile,
                const std::vector<float>& sums, std::span<float> out) {
  const std::int64_t height = conv.window.out[0], width = conv.window.out[1];
  const int m = conv.winograd_tile, points = points_of(conv);
  float one[kPointsMax], y[16];
  for (std::int64_t o = 0; o < conv.out_channels; ++o) {
    for (int p = 0; p < points; ++p) {
      one[p] = sums[static_cast<std::size_t>(p * conv.out_channels + o)];
    }
    call.pulse(128);
    transform_output(conv, one, y);
    float* plane = out.data() + (tile.image * conv.out_channels + o) * height * width;
    const float bias = bias_of(conv, call, o);
    for (int i = 0; i < m * m; ++i) {
      const std::int64_t row = tile.top + i / m, column = tile.left + i % m;
      if (row >= height || column >= width) continue;
      plane[row * width + column] = store<float>(add_bias(y[i], bias));
    }
  }
}

}  // namespace

void winograd_run(const Conv& conv, const Call& call, Tensor& output) {
  const float* x = paced<float>(call, 0).data();
  const std::vector<float> u = transform_filters(conv, call.pulse, paced<float>(call, 1).data());
  const int points = points_of(conv), m = conv.winograd_tile;
  std::vector<float> sums(static_cast<std::size_t>(points * conv.out_channels));
  float v[kPointsMax];
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t top = 0; top < conv.window.out[0]; top += m) {
      for (std::int64_t left = 0; left < conv.window.out[1]; left += m) {
        const Tile tile{n, top, left};
        call.pulse(sums.size());
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (std::int64_t c = 0; c < conv.channels; ++c) {
          call.pulse(128);
          transform_input(conv, tile, c, x, v);
          for (int p = 0; p < points; ++p) {
            step_row(call.pulse, v[p], u.data() + (p * conv.channels + c) * conv.out_channels, 1,
                     sums.data() + p * conv.out_channels, conv.out_channels);
          }
        }
        store_tile(conv, call, tile, sums, output.mutable_data<float>());
      }
    }
  }
}

// The chains of all points side by side, so that no filter and no tile is transformed twice.
float winograd_element(const Conv& conv, const Call& call, std::int64_t index) {
  const Place place = place_of(conv, index);
  const int points = points_of(conv);
  const float* x = paced<float>(call, 0).data();
  const float* w = paced<float>(call, 1).data() + place.out_channel * conv.channels * 9;
  float sums[kPointsMax] = {}, u[kPointsMax], v[kPointsMax], y[16];
  for (std::int64_t c = 0; c < conv.channels; ++c) {
    winograd_filter(conv.winograd_tile, w + c * 9, u);
    transform_input(conv, place.tile, c, x, v);
    for (int p = 0; p < points; ++p) sums[p] = step(u[p], v[p], sums[p]);
  }
  transform_output(conv, sums, y);
  return store<float>(add_bias(y[place.in_tile], bias_of(conv, call, place.out_channel)));
}

void winograd_reads(const Conv& conv, std::int64_t index, std::vector<ElementRef>& out) {
  const Place place = place_of(conv, index);
  const int side = conv.winograd_tile + 2;
  for (std::int64_t c = 0; c < conv.channels; ++c) {
    const std::int64_t plane = place.tile.image * conv.channels + c;
    for (int i = 0; i < side * side; ++i) {
      const std::int64_t at = input_at(conv, place.tile, i / side, i % side);
      if (at >= 0) out.push_back({0, plane * conv.window.in_elements() + at});
    }
    for (int i = 0; i < 9; ++i) {
      out.push_back({1, (place.out_channel * conv.channels + c) * 9 + i});
    }
  }
  if (conv.has_bias) out.push_back({2, place.out_channel});
}

std::int64_t winograd_steps(const Conv& conv) { return points_of(conv) * conv.channels; }

float winograd_partial(const Conv& conv, const Call& call, std::int64_t index, std::int64_t steps) {
  if (steps == 0) return 0.0f;
  const auto point = static_cast<int>((steps - 1) / conv.channels);
  const std::int64_t channels = (steps - 1) % conv.channels + 1;
  return store<float>(point_sum(conv, call, place_of(conv, index), point, channels));
}

}  // namespace commensal::kernels::ref
