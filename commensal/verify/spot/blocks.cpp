// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/spot/blocks.hpp>

namespace commensal::spot {

using core::Result;
using kernels::shape_inference::Conv;
using tensor::Tensor;

std::optional<ConvBlocks> ConvBlocks::of(const graph::Node& node, const kernels::Call& call) {
  if (node.op->role != kernels::Role::kConv || call.in(0).dtype() != tensor::DType::kFloat32) {
    return std::nullopt;
  }
  const auto conv = kernels::shape_inference::conv_of(call);
  if (!conv || conv->window.rank != 2) return std::nullopt;
  ConvBlocks made(*conv, call, node);
  if (!made.has_same_bits()) return std::nullopt;
  return made;
}

bool ConvBlocks::has_same_bits() const {
  const auto& out = conv_.window.out;
  if (conv_.winograd_tile == 2 || conv_.channels == 0) return false;
  if (out[0] * out[1] <= kSide * kSide) return false;
  if (patch(0) > 8 * kSide || patch(1) > 8 * kSide) return false;  // most of it would not be asked
  return std::ranges::all_of(weights_.data<float>(), [](float w) { return std::isfinite(w); });
}

void ConvBlocks::reads(const Marks& wanted, const std::function<void(std::int64_t)>& want) const {
  const auto& window = conv_.window;
  const std::int64_t plane = window.out_elements(), images = conv_.batch;
  const std::int64_t tile = std::max(conv_.winograd_tile, 1);
  Marks places;  // of all channels together: the corners of tiles, or single places
  wanted.each([&](std::int64_t index) {
    const std::int64_t image = index / plane / conv_.out_channels, at = index % plane;
    const std::int64_t row = at / window.out[1] / tile * tile, column = at % window.out[1];
    places.add(image * plane + row * window.out[1] + column / tile * tile, images * plane);
  });
  Marks read;  // likewise
  const std::int64_t in_plane = window.in_elements();
  const bool is_tiled = conv_.winograd_tile != 0;
  std::array<std::int64_t, 2> taps{}, step{};
  for (std::size_t d = 0; d < 2; ++d) {
    taps[d] = is_tiled ? tile + 2 : window.kernel[d];
    step[d] = window.dilation[d];
  }
  places.each([&](std::int64_t place) {
    const std::int64_t image = place / plane, at = place % plane;
    const std::int64_t top = at / window.out[1] * window.stride[0] - window.pad_begin[0];
    const std::int64_t left = at % window.out[1] * window.stride[1] - window.pad_begin[1];
    for (std::int64_t i = 0; i < taps[0]; ++i) {
      const std::int64_t row = top + i * step[0];
      if (row < 0 || row >= window.in[0]) continue;
      for (std::int64_t j = 0; j < taps[1]; ++j) {
        const std::int64_t column = left + j * step[1];
        if (column < 0 || column >= window.in[1]) continue;
        read.add(image * in_plane + row * window.in[1] + column, images * in_plane);
      }
    }
  });
  read.each([&](std::int64_t at) {
    const std::int64_t first = at / in_plane * conv_.channels * in_plane + at % in_plane;
    for (std::int64_t c = 0; c < conv_.channels; ++c) want(first + c * in_plane);
  });
}

std::vector<ConvBlocks::Block> ConvBlocks::blocks_of(const Marks& wanted) const {
  const auto& window = conv_.window;
  const std::int64_t down = (window.out[0] + kSide - 1) / kSide;
  const std::int64_t across = (window.out[1] + kSide - 1) / kSide;
  Marks touched;
  wanted.each([&](std::int64_t index) {
    const std::int64_t at = index % window.out_elements();
    const std::int64_t image = index / window.out_elements() / conv_.out_channels;
    const std::int64_t row = at / window.out[1] / kSide, column = at % window.out[1] / kSide;
    touched.add((image * down + row) * across + column, conv_.batch * down * across);
  });
  std::vector<Block> blocks;
  touched.each([&](std::int64_t at) {
    blocks.push_back({at / across / down, at / across % down * kSide, at % across * kSide});
  });
  return blocks;
}

/// The same convolution without padding, of images of one block each.
std::shared_ptr<const graph::Graph> ConvBlocks::small_graph() const {
  graph::Graph made;
  graph::Node node = *node_;
  node.attributes.set("pads", std::vector<std::int64_t>(4, 0));
  node.attributes.set("auto_pad", std::string("NOTSET"));
  const graph::Declared images = {.dtype = tensor::DType::kFloat32,
                                  .ranked = true,
                                  .dims = {-1, conv_.channels, patch(0), patch(1)},
                                  .symbols = {"", "", "", ""}};
  made.values = {{"x", images}, {"w", {}}, {"y", {}}};
  made.inputs = {0};
  made.outputs = {2};
  made.initialisers[1] = weights_;
  node.inputs = {0, 1};
  node.outputs = {2};
  if (conv_.has_bias) {
    made.values.push_back({"b", {}});
    made.initialisers[3] = bias_;
    node.inputs.push_back(3);
  }
  made.nodes = {std::move(node)};
  return std::make_shared<const graph::Graph>(std::move(made));
}

void ConvBlocks::gather(const Block& block, std::span<const float> input, float* to) const {
  const auto& window = conv_.window;
  const std::int64_t top = block.top * window.stride[0] - window.pad_begin[0];
  const std::int64_t left = block.left * window.stride[1] - window.pad_begin[1];
  const std::int64_t from = std::max<std::int64_t>(left, 0);
  const std::int64_t end = std::min(left + patch(1), window.in[1]);
  for (std::int64_t c = 0; c < conv_.channels; ++c) {
    const std::int64_t plane = (block.image * conv_.channels + c) * window.in_elements();
    for (std::int64_t i = 0; i < patch(0); ++i, to += patch(1)) {
      const std::int64_t row = top + i;
      std::fill(to, to + patch(1), 0.0F);
      if (row < 0 || row >= window.in[0] || from >= end) continue;
      const auto part = input.subspan(static_cast<std::size_t>(plane + row * window.in[1] + from),
                                      static_cast<std::size_t>(end - from));
      std::ranges::copy(part, to + (from - left));
    }
  }
}

Result<std::int64_t> ConvBlocks::compute(
    const Marks& wanted, const Tensor& input, const graph::SessionOptions& options,
    const std::function<void(std::int64_t, std::uint64_t)>& put) {
  const auto& window = conv_.window;
  const std::vector<Block> blocks = blocks_of(wanted);
  COMMENSAL_ASSIGN(auto session, graph::Session::create(small_graph(), options));
  const std::int64_t each = conv_.channels * patch(0) * patch(1);
  const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(kBatchFloats / each, 1));
  for (std::size_t first = 0; first < blocks.size(); first += batch) {
    const std::size_t count = std::min(batch, blocks.size() - first);
    std::vector<float> patches(count * static_cast<std::size_t>(each));
    for (std::size_t b = 0; b < count; ++b) {
      gather(blocks[first + b], input.data<float>(),
             patches.data() + b * static_cast<std::size_t>(each));
    }
    const std::vector<Tensor> given = {Tensor::of<float>(
        {static_cast<std::int64_t>(count), conv_.channels, patch(0), patch(1)}, patches)};
    COMMENSAL_ASSIGN(const auto made, session.run(given));
    for (std::size_t b = 0; b < count; ++b) {
      const Block& block = blocks[first + b];
      const std::int64_t down = std::min(kSide, window.out[0] - block.top);
      const std::int64_t across = std::min(kSide, window.out[1] - block.left);
      for (std::int64_t c = 0; c < conv_.out_channels; ++c) {
        const std::int64_t plane = (block.image * conv_.out_channels + c) * window.out_elements();
        const std::int64_t from = (static_cast<std::int64_t>(b) * conv_.out_channels + c) * kSide;
        for (std::int64_t i = 0; i < down * across; ++i) {
          const std::int64_t row = i / across, column = i % across;
          const std::int64_t index =
              plane + (block.top + row) * window.out[1] + block.left + column;
          if (!wanted.has(index)) continue;
          put(index, tensor::element_bits(made[0], (from + row) * kSide + column));
        }
      }
    }
  }
  const auto computed = static_cast<std::int64_t>(blocks.size()) * kSide * kSide;
  return 2 * computed * conv_.out_channels * conv_.depth();
}

}  // namespace commensal::spot
