// SPDX-License-Identifier: Apache-2.0
// DeformConv: where taps lie is worked out once for all channels of an offset group; the rest is a
// product, whose right matrix is interpolated block by block.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
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
  bool is_exact = false;  // places are whole numbers that binary32 holds, and so are their sums

  static core::Result<Deformed> of(const Call& call) {
    Deformed op;
    COMMENSAL_ASSIGN(op.conv, shape_inference::conv_of(call, {kX, kWeights, kBias}));
    COMMENSAL_ASSIGN(op.offset_groups, call.attributes->integer("offset_group", 1));
    constexpr std::int64_t kExact = 1 << 24;
    const shape_inference::Window& w = op.conv.window;
    op.is_exact = w.in_elements() <= std::numeric_limits<std::int32_t>::max();
    for (const std::size_t d : {0, 1}) {  // the window's places end within the padded picture
      op.is_exact = op.is_exact && std::max(w.pad_begin[d], w.pad_end[d]) < kExact / 4 &&
                    w.in[d] < kExact / 4;
    }
    return op;
  }
  std::int64_t places() const { return conv.window.out_elements(); }
  std::int64_t taps() const { return conv.window.taps(); }
  std::int64_t channels_an_offset() const { return conv.channels / offset_groups; }
};

/// The corners of all taps of one image: of plane (offset group, tap), an element each place.
class Corners {
 public:
  static constexpr std::int64_t kPlaces = 64;  // of a piece

  Corners(const CpuKernels& kernels, const Deformed& op, float* memory)
      : kernels_(kernels), op_(op), memory_(memory) {}
  static std::int64_t floats(const Deformed& op) {
    return op.offset_groups * op.taps() * op.places() * 2 * kCorners;
  }
  /// The places' indices (bits) or weights, by corner.
  float* at(std::int64_t plane, int corner, bool weights) const {
    return memory_ + ((plane * kCorners + corner) * 2 + (weights ? 1 : 0)) * op_.places();
  }
  /// Places [first, first + count), at most kPlaces, of all taps of an offset group; `offsets` of
  /// the image: of each plane y, and then x.
  void fill(const ThreadPool& threads, std::int64_t group, std::int64_t first, std::int64_t count,
            const float* offsets) const {
    const shape_inference::Window& w = op_.conv.window;
    std::array<float, kPlaces> rows, columns;  // of tap 0
    for (std::int64_t i = 0, y = first / w.out[1], x = first % w.out[1]; i < count; ++i) {
      rows[static_cast<std::size_t>(i)] = static_cast<float>(y * w.stride[0] - w.pad_begin[0]);
      columns[static_cast<std::size_t>(i)] = static_cast<float>(x * w.stride[1] - w.pad_begin[1]);
      if (++x == w.out[1]) x = 0, ++y;
    }
    NeighboursOf all;
    all.rows = rows.data(), all.columns = columns.data();
    all.height = static_cast<std::int32_t>(w.in[0]), all.width = static_cast<std::int32_t>(w.in[1]);
    all.count = count;
    Pulse pulse(&threads);
    for (std::int64_t tap = 0; tap < op_.taps(); ++tap) {
      const std::int64_t plane = group * op_.taps() + tap;
      all.row = static_cast<float>(tap / w.kernel[1] * w.dilation[0]);
      all.column = static_cast<float>(tap % w.kernel[1] * w.dilation[1]);
      all.down = offsets + 2 * plane * op_.places() + first;
      all.right = all.down + op_.places();
      for (int corner = 0; corner < kCorners; ++corner) {
        all.at[corner] = at(plane, corner, false) + first;
        all.weights[corner] = at(plane, corner, true) + first;
      }
      pulse(count);
      kernels_.taps.neighbours(all);
    }
  }

 private:
  const CpuKernels& kernels_;
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
  const std::int64_t pieces = ceil_div(places, Corners::kPlaces);
  ws.threads.run(op.offset_groups * pieces, [&](std::int64_t i) {
    const std::int64_t first = i % pieces * Corners::kPlaces;
    corners.fill(ws.threads, i / pieces, first, std::min(Corners::kPlaces, places - first),
                 offsets);
  });
  const std::int64_t rows = conv.group_out_channels();
  const float* const bias = conv.has_bias ? call.in(kBias).data<float>().data() : nullptr;
  float* const y = output.mutable_data<float>().data() + n * conv.out_channels * places;
  const auto columns = [&](std::int64_t g) {
    return DeformedColumns(kernels_for(ws.isa), op, corners, x, g * conv.group_channels(), mask);
  };
  const auto product = [&](std::int64_t g, const ColumnSource& source) {
    return Product{.a = weights.group_rows(g),
                   .b = &source,
                   .c = y + g * rows * places,
                   .c_step = places,
                   .bias = bias == nullptr ? nullptr : bias + g * rows,
                   .bias_row_step = 1};
  };
  return multiply_each({.rows = rows, .depth = conv.depth(), .columns = places}, conv.group,
                       columns, product, ws);
}

core::Result<bool> deform_served(const Deformed& op, const Call& call, std::span<Tensor> outputs,
                                 Workspace& ws) {
  if (call.in(kX).dtype() != tensor::DType::kFloat32 || !op.is_exact) return false;
  if (outputs[0].elements() == 0 || call.in(kX).elements() == 0) return false;
  std::shared_ptr<const ConvWeights> made;  // where the weights are not constant
  if (ws.packed == nullptr) {
    COMMENSAL_ASSIGN(made, weights_of_deform(call, ws.isa, PackRoom(ws.arena)));
  }
  const auto& weights = ws.packed == nullptr ? *made : static_cast<const ConvWeights&>(*ws.packed);
  Room room;
  COMMENSAL_ASSIGN(float* const memory, room.of(ws.arena, Corners::floats(op)));
  const Corners corners(kernels_for(ws.isa), op, memory);
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
  COMMENSAL_ASSIGN(const auto op, call.memo.of([&] { return Deformed::of(call); }));
  return serve(call, outputs, ws, ref::kDeformConv,
               [&op](const Call& own, std::span<Tensor> made, Workspace& space) {
                 return deform_served(*op, own, made, space);
               });
}

}  // namespace commensal::kernels::cpu
