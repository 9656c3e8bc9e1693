// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <limits>
#include <span>

namespace commensal::kernels::cpu {

namespace {

bool are_finite(Pulse& pulse, std::span<const float> all) {
  constexpr std::size_t kAtATime = 1024;
  for (; !all.empty(); all = all.subspan(std::min(kAtATime, all.size()))) {
    const auto some = all.first(std::min(kAtATime, all.size()));
    pulse(static_cast<std::int64_t>(some.size()));
    // All of them, without a branch: as vectors. NaN compares as false.
    bool finite = true;
    for (const float w : some) finite &= std::abs(w) <= std::numeric_limits<float>::max();
    if (!finite) return false;
  }
  return true;
}

}  // namespace

ConvWeights::ConvWeights(Pulse& pulse, const CpuKernels& kernels, const Tensor& weights,
                         std::int64_t group, bool winograd_applies, PackRoom room)
    : kernels_(kernels),
      weights_(weights.read_once()),
      group_(group),
      taps_(weights.shape().elements(2, weights.shape().rank())),
      all_finite_(are_finite(pulse, weights_.data<float>())),
      room_(room) {
  const std::int64_t depth = winograd_applies ? group_channels() : taps_ * group_channels();
  group_floats_ = packed_rows_floats(kernels, out_channels() / group, depth);
}

core::Result<std::shared_ptr<const ConvWeights>> ConvWeights::of(
    Pulse& pulse, const CpuKernels& kernels, const Tensor& weights, std::int64_t group,
    bool winograd_applies, PackRoom room) {
  const std::shared_ptr<ConvWeights> made(
      new ConvWeights(pulse, kernels, weights, group, winograd_applies, room));
  if (!winograd_applies) COMMENSAL_TRY(made->pack_direct(pulse));
  return made;
}

core::Result<void> ConvWeights::pack_direct(Pulse& pulse) {
  COMMENSAL_ASSIGN(direct_, room_.floats(group_floats_ * group_));
  const std::int64_t rows = out_channels() / group_, channels = group_channels();
  const std::int64_t height = kernels_.tile_rows, depth = taps_ * channels;
  const float* from = plain();
  for (std::int64_t g = 0; g < group_ && rows % height != 0; ++g) {  // what lies below the last row
    std::fill_n(direct_.get() + g * group_floats_ + rows / height * height * depth, height * depth,
                0.0f);
    pulse(height * depth / 8);
  }
  for (std::int64_t o = 0; o < out_channels(); ++o) {
    const std::int64_t row = o % rows;
    float* const to =
        direct_.get() + o / rows * group_floats_ + row / height * height * depth + row % height;
    for (std::int64_t c = 0; c < channels; ++c) {
      pulse(2 * taps_);
      for (std::int64_t tap = 0; tap < taps_; ++tap) {
        to[(tap * channels + c) * height] = *from++;
      }
    }
  }
  return {};
}

Rows ConvWeights::group_rows(std::int64_t group) const {
  const std::int64_t height = kernels_.tile_rows;
  return {direct_.get() + group * group_floats_, taps_ * group_channels() * height, height};
}

void ConvWeights::transform(int tile, float* to, ThreadPool& threads) const {
  const WinogradKernels& kernels = tile == 4 ? kernels_.winograd_4 : kernels_.winograd_2;
  const std::int64_t channels = group_channels(), height = kernels_.tile_rows;
  threads.run(ceil_div(out_channels(), height), [&](std::int64_t panel) {
    const std::int64_t first = panel * height;
    WinogradFilters filters = {.from = plain() + first * channels * 9,
                               .row_step = channels * 9,
                               .rows = static_cast<int>(std::min(height, out_channels() - first)),
                               .out = to + first * channels,
                               .point_step = group_floats_};
    Pulse pulse(&threads);
    for (int p = 0; p < (tile + 2) * (tile + 2) && filters.rows < height; ++p) {
      std::fill_n(filters.out + p * group_floats_, height * channels, 0.0f);
      pulse(height * channels / 8);
    }
    for (std::int64_t c = 0; c < channels; ++c, filters.from += 9, filters.out += height) {
      pulse(16 * height);
      kernels.filters(filters);
    }
  });
}

core::Result<Rows> ConvWeights::point_rows(int tile, int point, ThreadPool& threads) const {
  Transformed& made = winograd_[tile == 4 ? 1 : 0];
  std::call_once(made.once, [&] {
    made.filters = room_.floats(group_floats_ * (tile + 2) * (tile + 2));
    if (made.filters) transform(tile, made.filters->get(), threads);
  });
  if (!made.filters) return tl::unexpected(made.filters.error());
  const std::int64_t height = kernels_.tile_rows;
  return Rows{made.filters->get() + point * group_floats_, group_channels() * height, height};
}

}  // namespace commensal::kernels::cpu
