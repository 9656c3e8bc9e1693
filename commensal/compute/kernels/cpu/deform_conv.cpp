// SPDX-License-Identifier: Apache-2.0
// DeformConv: a product of the weights and of columns that are sampled where offsets say.
#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/weighted_line.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/sampling.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

namespace commensal::kernels::cpu {

namespace {

using ref::TapTable;
using shape_inference::Dims;

constexpr int kDeformedImage = 0, kDeformedFilters = 1, kDeformedOffset = 2, kDeformedBias = 3,
              kDeformedMask = 4;

/// What all columns of a call share.
struct Deformed {
  shape_inference::Conv conv;
  std::int64_t offset_groups = 1;
  const float* x = nullptr;
  const float* offset = nullptr;
  const float* mask = nullptr;  // null: none
  const CpuKernels* kernels = nullptr;
  const WeightedLineKernels* lines = nullptr;

  /// The four neighbours of places [column, column + columns) of a tap.
  void fill(std::int64_t n, std::int64_t entry, std::int64_t tap, std::int64_t column, int columns,
            TapTable& table) const {
    const shape_inference::Window& w = conv.window;
    const std::int64_t places = w.out_elements();
    const Dims in_kernel = w.split(tap, w.kernel);
    const float* const from = offset + (n * offset_groups * w.taps() + entry) * 2 * places + column;
    table.clear(4, columns);
    for (std::int64_t p = 0; p < columns; ++p) {
      const std::int64_t at[2] = {(column + p) / w.out[1], (column + p) % w.out[1]};
      ref::Neighbours<float> axis[2];
      for (std::size_t d = 0; d < 2; ++d) {
        const std::int64_t base =
            at[d] * w.stride[d] - w.pad_begin[d] + in_kernel[d] * w.dilation[d];
        axis[d] = ref::Neighbours<float>::of(static_cast<float>(base) +
                                             from[static_cast<std::int64_t>(d) * places + p]);
      }
      for (std::int64_t k = 0; k < 4; ++k) {
        const std::int64_t y = axis[0].first + k / 2, column_at = axis[1].first + k % 2;
        if (y < 0 || y >= w.in[0] || column_at < 0 || column_at >= w.in[1]) continue;
        table.set(k, p, y * w.in[1] + column_at, axis[0].weight[k / 2] * axis[1].weight[k % 2]);
      }
    }
  }
};

/// Of an image and a group: row tap * C/group + c.
class DeformedColumns final : public ColumnSource {
 public:
  DeformedColumns(const Deformed& call, std::int64_t n, std::int64_t group)
      : call_(call), n_(n), group_(group) {}

  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override {
    const shape_inference::Conv& conv = call_.conv;
    const shape_inference::Window& w = conv.window;
    const std::int64_t channels = conv.group_channels(), places = w.out_elements();
    const int step = call_.kernels->tile_columns;
    const LineTap whole;
    TapTable table;
    std::int64_t filled = -1;
    for (std::int64_t row = k; row < k + depth; ++row) {
      const std::int64_t tap = row / channels, channel = group_ * channels + row % channels;
      const std::int64_t entry = channel / (conv.channels / call_.offset_groups) * w.taps() + tap;
      if (entry != filled) call_.fill(n_, filled = entry, tap, column, columns, table);
      float* const to = scratch + (row - k) * step;
      call_.lines->floats({.x = call_.x + (n_ * conv.channels + channel) * w.in_elements(),
                           .line = &whole,
                           .index = table.index.data(),
                           .weights = table.weights.data(),
                           .step = table.step,
                           .taps = 4,
                           .y = to,
                           .count = columns});
      std::fill(to + columns, to + step, 0.0f);
      if (call_.mask == nullptr) continue;
      const float* const mask =
          call_.mask + (n_ * call_.offset_groups * w.taps() + entry) * places + column;
      for (int p = 0; p < columns; ++p) to[p] = to[p] * mask[p];
    }
    return {scratch, step};
  }

 private:
  const Deformed& call_;
  std::int64_t n_, group_;
};

}  // namespace

core::Result<void> deform_conv(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  Deformed op;
  COMMENSAL_ASSIGN(
      op.conv, shape_inference::conv_of(call, {kDeformedImage, kDeformedFilters, kDeformedBias}));
  COMMENSAL_ASSIGN(op.offset_groups, call.attributes->integer("offset_group", 1));
  const shape_inference::Conv& conv = op.conv;
  if (outputs[0].elements() == 0) return {};
  const bool suits =
      conv.dtype == tensor::DType::kFloat32 && conv.window.in_elements() < std::int64_t{1} << 31;
  if (!suits) return ref::kDeformConv.best()(call, outputs, ws);
  const auto data = [&](int i) { return call.has(i) ? call.in(i).data<float>().data() : nullptr; };
  op.x = data(kDeformedImage), op.offset = data(kDeformedOffset), op.mask = data(kDeformedMask);
  op.kernels = &kernels_for(ws.isa);
  op.lines = &weighted_line_kernels_for(ws.isa);
  Pulse pulse(&ws.threads);
  const ConvWeights weights(pulse, *op.kernels, call.in(kDeformedFilters), conv.group, false);
  const std::int64_t rows = conv.group_out_channels(), places = conv.window.out_elements();
  const float* const bias = data(kDeformedBias);
  float* const y = outputs[0].mutable_data<float>().data();
  std::vector<DeformedColumns> sources;
  std::vector<Product> products;
  sources.reserve(static_cast<std::size_t>(conv.batch * conv.group));
  for (std::int64_t i = 0; i < conv.batch * conv.group; ++i) {
    const std::int64_t group = i % conv.group;
    pulse(64);
    sources.emplace_back(op, i / conv.group, group);
    products.push_back({.a = weights.group_rows(group),
                        .b = &sources.back(),
                        .c = y + i * rows * places,
                        .c_step = places,
                        .bias = bias == nullptr ? nullptr : bias + group * rows,
                        .bias_row_step = 1});
  }
  return multiply({.rows = rows, .depth = conv.depth(), .columns = places}, products, ws);
}

}  // namespace commensal::kernels::cpu
