// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/conv.hpp>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/half_conv.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>

namespace commensal::kernels::cpu {

namespace {

struct PackedHalfConv final : Packed {
  PackedHalfConv(Pulse& pulse, Isa isa, const Tensor& from, PackStore* store)
      : weights(pulse, blocked_kernels_for(isa), half_kernels_for(isa, from.dtype()), from, store) {
  }
  BlockedWeights weights;
};

bool all_finite(const Tensor& halves, Pulse& pulse) {
  const std::uint16_t exponent = halves.dtype() == tensor::DType::kFloat16 ? 0x7c00 : 0x7f80;
  const std::uint16_t* const bits = half_bits(halves);
  return std::all_of(bits, bits + halves.elements(), [&](std::uint16_t one) {
    pulse();
    return (one & exponent) != exponent;
  });
}

/// A line is a picture of one row.
void make_picture(shape_inference::Window& w) {
  if (w.rank == 2) return;
  w.rank = 2;
  for (shape_inference::Dims* const dims :
       {&w.in, &w.out, &w.kernel, &w.stride, &w.dilation, &w.pad_begin, &w.pad_end}) {
    (*dims)[1] = (*dims)[0];
    (*dims)[0] = 1;
  }
  w.pad_begin[0] = w.pad_end[0] = 0;
}

struct Lines {
  alignas(64) float of_channels[kBlock][kMaxTaskPixels];
};

core::Result<std::shared_ptr<float>> blocked_from(const HalfKernels& halves, const Tensor& picture,
                                                  const BlockedShape& shape, Workspace& ws) {
  COMMENSAL_ASSIGN(std::shared_ptr<float> made, floats_from(ws.arena, shape.batch * shape.image()));
  const std::int64_t channels = picture.shape()[1], plane = shape.pixels();
  const std::uint16_t* const x = half_bits(picture);
  for_each_part(shape, channels, ws.threads,
                [&](std::int64_t n, std::int64_t block, std::int64_t pixel, std::int64_t pixels,
                    std::int64_t count) {
                  Lines lines;
                  const std::uint16_t* from = x + (n * channels + block * kBlock) * plane + pixel;
                  for (std::int64_t c = 0; c < count; ++c, from += plane) {
                    halves.widen(from, lines.of_channels[c], pixels);
                  }
                  float* const to =
                      made.get() + (n * shape.blocks + block) * shape.plane() + pixel * kBlock;
                  kernels_for(ws.isa).transpose_words(
                      {lines.of_channels[0], kMaxTaskPixels, to, kBlock, count, pixels});
                });
  return made;
}

void round_from_blocked(const HalfKernels& halves, const float* blocked, const BlockedShape& shape,
                        Tensor& picture, Workspace& ws) {
  const std::int64_t channels = picture.shape()[1], plane = shape.pixels();
  std::uint16_t* const y = half_bits(picture);
  for_each_part(shape, channels, ws.threads,
                [&](std::int64_t n, std::int64_t block, std::int64_t pixel, std::int64_t pixels,
                    std::int64_t count) {
                  Lines lines;
                  const float* const from =
                      blocked + (n * shape.blocks + block) * shape.plane() + pixel * kBlock;
                  kernels_for(ws.isa).transpose_words(
                      {from, kBlock, lines.of_channels[0], kMaxTaskPixels, pixels, count});
                  std::uint16_t* to = y + (n * channels + block * kBlock) * plane + pixel;
                  for (std::int64_t c = 0; c < count; ++c, to += plane) {
                    halves.round(lines.of_channels[c], to, pixels);
                  }
                });
}

}  // namespace

core::Result<std::shared_ptr<const Packed>> pack_half_conv(const Call& call, Isa isa) {
  constexpr std::int64_t kFewChannels = 4;  // of so few, blocks would be nearly empty
  const tensor::Shape& w = call.in(1).shape();
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  if (w.rank() < 3 || w.rank() > 4 || group != 1) return nullptr;
  if (w[0] < kBlock || w[1] <= kFewChannels) return nullptr;
  // To make blocks of a picture takes longer than a small product of its pixels.
  constexpr std::int64_t kSmall = 128 * 128;
  if (w.elements(2, w.rank()) == 1 && w.elements() < kSmall) return nullptr;
  const Tensor from = call.in(1).read_once();
  // +0 around a picture is as good as no tap only where weights are finite.
  if (!all_finite(from, call.pulse)) return nullptr;
  return std::make_shared<const PackedHalfConv>(call.pulse, isa, from, call.store);
}

core::Result<bool> half_conv(const Call& call, Tensor& output, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto parsed, call.memo.of([&] { return shape_inference::conv_of(call); }));
  if (output.elements() == 0) return true;
  if (!TapLayout::suits(parsed->window)) return false;
  BlockedConv conv;
  conv.conv = *parsed;
  make_picture(conv.conv.window);
  const BlockedWeights& weights = static_cast<const PackedHalfConv*>(ws.packed)->weights;
  const HalfKernels halves = half_kernels_for(ws.isa, output.dtype());
  COMMENSAL_ASSIGN(const auto x, blocked_from(halves, call.in(0), conv.in(), ws));
  COMMENSAL_ASSIGN(const auto y, floats_from(ws.arena, conv.out().batch * conv.out().image()));
  std::shared_ptr<float> bias;
  conv.finish.bias = weights.bias();
  if (conv.conv.has_bias) {
    COMMENSAL_ASSIGN(bias, floats_from(ws.arena, conv.out().blocks * kBlock));
    std::fill_n(bias.get(), conv.out().blocks * kBlock, 0.0f);
    halves.widen(half_bits(call.in(2)), bias.get(), call.in(2).elements());
    conv.finish.bias = bias.get();
  }
  conv.x = x.get();
  conv.y = y.get();
  COMMENSAL_TRY(blocked_direct(conv, weights, ws));
  round_from_blocked(halves, y.get(), conv.out(), output, ws);
  return true;
}

}  // namespace commensal::kernels::cpu
