// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <commensal/compute/kernels/math/winograd.hpp>

namespace commensal::kernels::cpu {

ConvWeights::ConvWeights(Pulse& pulse, const CpuKernels& kernels, const Tensor& weights,
                         std::int64_t group, bool winograd_applies)
    : kernels_(kernels),
      weights_(weights.read_once()),
      group_(group),
      taps_(weights.shape().elements(2, weights.shape().rank())),
      all_finite_(std::ranges::all_of(weights_.data<float>(), [&](float w) {
        pulse();
        return std::isfinite(w);
      })) {
  const std::int64_t depth = winograd_applies ? group_channels() : taps_ * group_channels();
  group_floats_ = packed_rows_floats(kernels, out_channels() / group, depth);
  if (!winograd_applies) pack_direct(pulse);
}

void ConvWeights::pack_direct(Pulse& pulse) {
  direct_ = std::make_unique<AlignedFloats>(group_floats_ * group_);
  const std::int64_t rows = out_channels() / group_, channels = group_channels();
  const std::int64_t height = kernels_.tile_rows, depth = taps_ * channels;
  const float* from = plain();
  for (std::int64_t o = 0; o < out_channels(); ++o) {
    const std::int64_t row = o % rows;
    float* const to =
        direct_->data() + o / rows * group_floats_ + row / height * height * depth + row % height;
    for (std::int64_t c = 0; c < channels; ++c) {
      pulse(2 * taps_);
      for (std::int64_t tap = 0; tap < taps_; ++tap) {
        to[(tap * channels + c) * height] = *from++;
      }
    }
  }
}

Rows ConvWeights::group_rows(std::int64_t group) const {
  const std::int64_t height = kernels_.tile_rows;
  return {direct_->data() + group * group_floats_, taps_ * group_channels() * height, height};
}

void ConvWeights::transform(int tile, float* to, ThreadPool& threads) const {
  const int points = (tile + 2) * (tile + 2);
  const std::int64_t channels = group_channels(), height = kernels_.tile_rows;
  threads.run(out_channels(), [&](std::int64_t o) {
    float one[36];
    const std::int64_t row = o / height * height * channels + o % height;
    for (std::int64_t c = 0; c < channels; ++c) {
      math::winograd_filter(tile, plain() + (o * channels + c) * 9, one);
      for (int p = 0; p < points; ++p) to[p * group_floats_ + row + c * height] = one[p];
    }
  });
}

Rows ConvWeights::point_rows(int tile, int point, ThreadPool& threads) const {
  Transformed& made = winograd_[tile == 4 ? 1 : 0];
  std::call_once(made.once, [&] {
    made.filters = std::make_unique<AlignedFloats>(group_floats_ * (tile + 2) * (tile + 2));
    transform(tile, made.filters->data(), threads);
  });
  const std::int64_t height = kernels_.tile_rows;
  return {made.filters->data() + point * group_floats_, group_channels() * height, height};
}

}  // namespace commensal::kernels::cpu
