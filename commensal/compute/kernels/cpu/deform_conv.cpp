// SPDX-License-Identifier: Apache-2.0
// DeformConv: where taps lie is worked out once for all channels of an offset group; the rest is a
// product, whose right matrix is interpolated block by block.
#include <array>
#include <bit>
#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/neighbours.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>
#include <limits>

namespace commensal::kernels::cpu {
namespace {

using shape_inference::Conv;

enum Input { kX, kWeights, kOffset, kBias, kMask };
constexpr int kCorners = Interpolation::kNeighbours;

struct Deformed {
  Conv conv;
  std::int64_t offset_groups = 1;

  std::int64_t places() const { return conv.window.out_elements(); }
  std::int64_t taps() const { return conv.window.taps(); }
  std::int64_t channels_an_offset() const { return conv.channels / offset_groups; }
};

/// The corners of all taps of one image: of plane (offset group, tap), an element each place.
class Corners {
 public:
  Corners(const Deformed& op, float* memory) : op_(op), memory_(memory) {}
  static std::int64_t floats(const Deformed& op) {
    return op.offset_groups * op.taps() * op.places() * 2 * kCorners;
  }
  /// The places' indices (bits) or weights, by corner.
  float* at(std::int64_t plane, int corner, bool weights) const {
    return memory_ + ((plane * kCorners + corner) * 2 + (weights ? 1 : 0)) * op_.places();
  }
  /// `offsets`: of plane, y and then x.
  void fill(const ThreadPool& threads, std::int64_t plane, const float* offsets) const {
    const shape_inference::Window& w = op_.conv.window;
    const shape_inference::Dims tap = w.split(plane % op_.taps(), w.kernel);
    std::array<float*, kCorners> indices{}, weights{};
    for (int corner = 0; corner < kCorners; ++corner) {
      indices[static_cast<std::size_t>(corner)] = at(plane, corner, false);
      weights[static_cast<std::size_t>(corner)] = at(plane, corner, true);
    }
    const float* const across = offsets + op_.places();
    Pulse pulse(&threads);
    std::int64_t i = 0;
    for (std::int64_t row = 0; row < w.out[0]; ++row) {
      pulse(8 * w.out[1]);
      const std::int64_t y = row * w.stride[0] - w.pad_begin[0] + tap[0] * w.dilation[0];
      std::int64_t x = tap[1] * w.dilation[1] - w.pad_begin[1];
      for (std::int64_t column = 0; column < w.out[1]; ++column, ++i, x += w.stride[1]) {
        const auto down = ref::Neighbours<float>::of(static_cast<float>(y) + offsets[i]);
        const auto right = ref::Neighbours<float>::of(static_cast<float>(x) + across[i]);
        for (std::size_t corner = 0; corner < kCorners; ++corner) {
          const std::int64_t at_y = down.first + static_cast<std::int64_t>(corner / 2);
          const std::int64_t at_x = right.first + static_cast<std::int64_t>(corner % 2);
          const float weight = down.weight[corner / 2] * right.weight[corner % 2];
          const bool is_inside =
              weight != 0 && at_y >= 0 && at_y < w.in[0] && at_x >= 0 && at_x < w.in[1];
          const auto index = static_cast<std::int32_t>(is_inside ? at_y * w.in[1] + at_x : -1);
          indices[corner][i] = std::bit_cast<float>(index);
          weights[corner][i] = is_inside ? weight : 0;
        }
      }
    }
  }

 private:
  const Deformed& op_;
  float* memory_;
};

/// Row (tap * C_group + c), column = output place, of one image and group.
class DeformedColumns final : public ColumnSource {
 public:
  DeformedColumns(const CpuKernels& kernels, const Deformed& op, const Corners& corners,
                  const float* x, std::int64_t first_channel, const float* mask)
      : kernels_(kernels), op_(op), corners_(corners), x_(x), first_(first_channel), mask_(mask) {}

  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override {
    const std::int64_t channels = op_.conv.group_channels();
    for (std::int64_t row = k; row < k + depth; ++row, scratch += kernels_.tile_columns) {
      const std::int64_t channel = first_ + row % channels;
      const std::int64_t plane = channel / op_.channels_an_offset() * op_.taps() + row / channels;
      Interpolation one;
      one.plane = x_ + channel * op_.conv.window.in_elements();
      for (int corner = 0; corner < kCorners; ++corner) {
        one.at[corner] = corners_.at(plane, corner, false) + column;
        one.weights[corner] = corners_.at(plane, corner, true) + column;
      }
      if (mask_ != nullptr) one.scale = mask_ + plane * op_.places() + column;
      one.to = scratch;
      one.count = columns;
      kernels_.taps.interpolate(one);
      std::fill(scratch + columns, scratch + kernels_.tile_columns, 0.0f);
    }
    return {scratch - depth * kernels_.tile_columns, kernels_.tile_columns};
  }

 private:
  const CpuKernels& kernels_;
  const Deformed& op_;
  const Corners& corners_;
  const float* x_;
  std::int64_t first_;
  const float* mask_;
};

core::Result<std::shared_ptr<const ConvWeights>> weights_of_deform(const Call& call, Isa isa,
                                                                   PackRoom room) {
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  return ConvWeights::of(call.pulse, kernels_for(isa), call.in(kWeights), group, false, room);
}

core::Result<void> run_image(const Deformed& op, std::int64_t n, const Call& call,
                             const ConvWeights& weights, const Corners& corners, Tensor& output,
                             Workspace& ws) {
  const Conv& conv = op.conv;
  const std::int64_t planes = op.offset_groups * op.taps(), places = op.places();
  const float* const offsets = call.in(kOffset).data<float>().data() + n * 2 * planes * places;
  const float* const x =
      call.in(kX).data<float>().data() + n * conv.channels * conv.window.in_elements();
  const float* mask = nullptr;
  if (call.has(kMask)) mask = call.in(kMask).data<float>().data() + n * planes * places;
  ws.threads.run(planes,
                 [&](std::int64_t i) { corners.fill(ws.threads, i, offsets + 2 * i * places); });
  const std::int64_t rows = conv.group_out_channels();
  const float* const bias = conv.has_bias ? call.in(kBias).data<float>().data() : nullptr;
  float* const y = output.mutable_data<float>().data() + n * conv.out_channels * places;
  std::vector<DeformedColumns> sources;
  std::vector<Product> products;
  sources.reserve(static_cast<std::size_t>(conv.group));
  for (std::int64_t g = 0; g < conv.group; ++g) {
    sources.emplace_back(kernels_for(ws.isa), op, corners, x, g * conv.group_channels(), mask);
    products.push_back({.a = weights.group_rows(g),
                        .b = &sources.back(),
                        .c = y + g * rows * places,
                        .c_step = places,
                        .bias = bias == nullptr ? nullptr : bias + g * rows,
                        .bias_row_step = 1});
  }
  return multiply({.rows = rows, .depth = conv.depth(), .columns = places}, products, ws);
}

core::Result<bool> deform_served(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (call.in(kX).dtype() != tensor::DType::kFloat32) return false;
  Deformed op;
  COMMENSAL_ASSIGN(op.conv, shape_inference::conv_of(call, {kX, kWeights, kBias}));
  COMMENSAL_ASSIGN(op.offset_groups, call.attributes->integer("offset_group", 1));
  if (outputs[0].elements() == 0 || call.in(kX).elements() == 0) return false;
  if (op.conv.window.in_elements() > std::numeric_limits<std::int32_t>::max()) return false;
  std::shared_ptr<const ConvWeights> made;  // where the weights are not constant
  if (ws.packed == nullptr) {
    COMMENSAL_ASSIGN(made, weights_of_deform(call, ws.isa, PackRoom(ws.arena)));
  }
  const auto& weights = ws.packed == nullptr ? *made : static_cast<const ConvWeights&>(*ws.packed);
  COMMENSAL_ASSIGN(const auto memory, floats_from(ws.arena, Corners::floats(op)));
  const Corners corners(op, memory.get());
  for (std::int64_t n = 0; n < op.conv.batch; ++n) {
    COMMENSAL_TRY(run_image(op, n, call, weights, corners, outputs[0], ws));
  }
  return true;
}

}  // namespace

core::Result<std::shared_ptr<const Packed>> pack_deform_conv(const Call& call, Isa isa) {
  if (!call.has(kWeights) || call.in(kWeights).dtype() != tensor::DType::kFloat32) return nullptr;
  const tensor::Shape& w = call.in(kWeights).shape();
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  if (w.rank() != 4 || group < 1 || w[0] % group != 0) return nullptr;  // infer will refuse it
  return weights_of_deform(call, isa, PackRoom());
}

core::Result<void> deform_conv(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return serve(call, outputs, ws, ref::kDeformConv, deform_served);
}

}  // namespace commensal::kernels::cpu
