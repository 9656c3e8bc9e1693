// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/weights.hpp>

namespace commensal::kernels::cpu {

std::optional<ConvWay> way_of(const shape_inference::Conv& conv) {
  if (conv.window.rank != 2 || conv.window.out_elements() == 0) return std::nullopt;
  if (conv.channels == 0 || conv.out_channels == 0) return std::nullopt;  // no blocks
  if (conv.winograd_tile != 0) return ConvWay::kWinograd;
  if (conv.group == 1) return ConvWay::kDirect;
  if (conv.group_channels() == 1 && conv.group_out_channels() == 1) return ConvWay::kDepthwise;
  const std::int64_t width = conv.group_channels();
  if (width == conv.group_out_channels() && kBlock % width == 0) return ConvWay::kGrouped;
  return std::nullopt;
}

BlockedWeights::BlockedWeights(const BlockedKernels& kernels, ConvWay way, int winograd_tile,
                               const Tensor& weights, const Tensor* bias, std::int64_t group,
                               PackStore* store)
    : way_(way), bias_(blocks_of(weights.shape()[0]) * kBlock) {
  const tensor::Shape& w = weights.shape();
  if (bias != nullptr) {
    const auto from = bias->data<float>();
    std::copy(from.begin(), from.end(), bias_.data());
  }
  const std::int64_t taps = w[2] * w[3];
  if (way == ConvWay::kDirect) {
    panels_.emplace(kernels, w[0], taps * w[1]);
    data_.emplace(panels_->floats(), store, [&](float* to) {
      Pulse none;
      pack_direct(none, w, weights.data<float>().data(), to);
    });
  } else if (way == ConvWay::kWinograd) {
    panels_.emplace(kernels, w[0], w[1]);
    const int points = (winograd_tile + 2) * (winograd_tile + 2);
    data_.emplace(panels_->floats() * points, store,
                  [&](float* to) { pack_winograd(kernels, weights, winograd_tile, to); });
  } else {
    core::check(group * w[1] == w[0], "groups are square");
    data_.emplace(blocks_of(w[0]) * taps * w[1] * kBlock, store,
                  [&](float* to) { pack_lanes(weights, to); });
  }
}

BlockedWeights::BlockedWeights(Pulse& pulse, const BlockedKernels& kernels,
                               const HalfKernels& halves, const Tensor& weights, PackStore* store)
    : way_(ConvWay::kDirect), halves_(halves), bias_(blocks_of(weights.shape()[0]) * kBlock) {
  const tensor::Shape& w = weights.shape();
  panels_.emplace(kernels, w[0], w.elements(1, w.rank()));
  data_.emplace(ceil_div(panels_->floats(), 2), store, [&](float* to) {
    pack_direct(pulse, w, half_bits(weights), reinterpret_cast<std::uint16_t*>(to));
  });
}

const float* BlockedWeights::steps(const Panels::Panel& panel, std::int64_t k, std::int64_t count,
                                   float* scratch) const {
  const std::int64_t at = panels_->offset(panel, k);
  if (!are_halves()) return data_->data() + at;
  const auto* const from = reinterpret_cast<const std::uint16_t*>(data_->data()) + at;
  halves_.widen(from, scratch, count * panel.vectors * panels_->lanes);
  return scratch;
}

template <class T>
void BlockedWeights::pack_direct(Pulse& pulse, const tensor::Shape& w, const T* from, T* to) const {
  const std::int64_t taps = w.elements(2, w.rank()), channels = w[1];
  for (std::int64_t o = 0; o < w[0]; ++o) {
    T* const column = to + panels_->at(0, o);
    const std::int64_t step = panels_->at(1, o) - panels_->at(0, o);
    for (std::int64_t c = 0; c < channels; ++c) {
      pulse(2 * taps);
      for (std::int64_t tap = 0; tap < taps; ++tap) column[(tap * channels + c) * step] = *from++;
    }
  }
}

void BlockedWeights::pack_winograd(const BlockedKernels& kernels, const Tensor& weights, int tile,
                                   float* to) const {
  const BlockedWinograd& transforms = tile == 4 ? kernels.winograd_4 : kernels.winograd_2;
  const tensor::Shape& w = weights.shape();
  for (std::int64_t o = 0; o < w[0]; o += kernels.lanes) {
    const std::int64_t step = panels_->at(1, o) - panels_->at(0, o);
    WinogradFilters filters = {
        .from = weights.data<float>().data() + o * w[1] * 9,
        .row_step = w[1] * 9,
        .rows = static_cast<int>(std::min<std::int64_t>(kernels.lanes, w[0] - o)),
        .out = to + panels_->at(0, o),
        .point_step = panels_->floats()};
    for (std::int64_t c = 0; c < w[1]; ++c, filters.from += 9, filters.out += step) {
      transforms.filters(filters);
    }
  }
}

void BlockedWeights::pack_lanes(const Tensor& weights, float* lanes) {
  const tensor::Shape& w = weights.shape();
  const std::int64_t taps = w[2] * w[3], width = w[1];
  const float* from = weights.data<float>().data();
  for (std::int64_t o = 0; o < w[0]; ++o) {
    float* const to = lanes + o / kBlock * taps * width * kBlock + o % kBlock;
    for (std::int64_t c = 0; c < width; ++c) {
      for (std::int64_t tap = 0; tap < taps; ++tap) to[(tap * width + c) * kBlock] = *from++;
    }
  }
}

}  // namespace commensal::kernels::cpu
