// SPDX-License-Identifier: Apache-2.0
// Conv: from a Call to tasks, by the direct order or by the Winograd clause, as the shape says.
#include <commensal/compute/kernels/cuda/kernels.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>
#include <vector>

namespace commensal::kernels::cuda {
namespace {

using Floats = std::shared_ptr<float>;

struct Operands {
  Floats x, w, bias, y;
};

core::Result<void> direct(const shape_inference::Conv& conv, const Operands& with, Device& device) {
  ConvTask task{.x = with.x.get(), .w = with.w.get(), .bias = with.bias.get(), .y = with.y.get()};
  task.batch = conv.batch;
  task.groups = conv.group;
  task.channels = conv.group_channels();
  task.rows = conv.group_out_channels();
  const shape_inference::Window& window = conv.window;
  for (int d = 0; d < window.rank; ++d) {
    const int to = d + 3 - window.rank;
    const auto from = static_cast<std::size_t>(d);
    task.in[to] = window.in[from];
    task.out[to] = window.out[from];
    task.kernel[to] = window.kernel[from];
    task.stride[to] = window.stride[from];
    task.dilation[to] = window.dilation[from];
    task.pad[to] = window.pad_begin[from];
  }
  device.run(&Driver::conv, task);
  return {};
}

core::Result<void> by_winograd(const shape_inference::Conv& conv, const Operands& with,
                               Device& device) {
  WinogradTask task{.tile = conv.winograd_tile,
                    .x = with.x.get(),
                    .w = with.w.get(),
                    .bias = with.bias.get(),
                    .y = with.y.get(),
                    .batch = conv.batch,
                    .channels = conv.channels,
                    .out_channels = conv.out_channels};
  const std::int64_t side = conv.winograd_tile, points = (side + 2) * (side + 2);
  for (std::size_t d = 0; d < 2; ++d) {
    task.in[d] = conv.window.in[d];
    task.out[d] = conv.window.out[d];
    task.pad[d] = conv.window.pad_begin[d];
  }
  task.tiles_down = (task.out[0] + side - 1) / side;
  task.tiles_across = (task.out[1] + side - 1) / side;
  const std::int64_t tiles = conv.batch * task.tiles_down * task.tiles_across;
  const std::int64_t filter_floats = conv.out_channels * conv.channels;
  const std::int64_t input_floats = conv.channels * tiles, sum_floats = conv.out_channels * tiles;
  COMMENSAL_ASSIGN(const Floats filters, device.floats(points * filter_floats));
  COMMENSAL_ASSIGN(const Floats inputs, device.floats(points * input_floats));
  COMMENSAL_ASSIGN(const Floats sums, device.floats(points * sum_floats));
  task.filters = filters.get();
  task.inputs = inputs.get();
  task.sums = sums.get();
  std::vector<std::int64_t> offsets;
  for (const std::int64_t step : {filter_floats, input_floats, sum_floats}) {
    for (std::int64_t p = 0; p < points; ++p) offsets.push_back(p * step);
  }
  COMMENSAL_ASSIGN(const auto at, device.upload(offsets));
  device.run(&Driver::winograd_filters, task);
  device.run(&Driver::winograd_inputs, task);
  device.run(&Driver::product, ProductTask{.a = task.filters,
                                           .a_row_step = conv.channels,
                                           .b = task.inputs,
                                           .b_step = tiles,
                                           .y = task.sums,
                                           .offsets = at.get(),
                                           .batch = points,
                                           .rows = conv.out_channels,
                                           .columns = tiles,
                                           .depth = conv.channels,
                                           .ends = false});
  device.run(&Driver::winograd_outputs, task);
  return {};
}

}  // namespace

core::Result<void> run_conv(const Call& call, std::span<Tensor> outputs, Device& device) {
  COMMENSAL_ASSIGN(const shape_inference::Conv conv, shape_inference::conv_of(call));
  if (outputs[0].elements() == 0) return {};
  Operands with;
  COMMENSAL_ASSIGN(with.x, device.upload(call.in(0)));
  COMMENSAL_ASSIGN(with.w, device.upload(call.in(1)));
  if (conv.has_bias) {
    COMMENSAL_ASSIGN(with.bias, device.upload(call.in(2)));
  }
  COMMENSAL_ASSIGN(with.y, device.floats(outputs[0].elements()));
  COMMENSAL_TRY(conv.winograd_tile != 0 ? by_winograd(conv, with, device)
                                        : direct(conv, with, device));
  return device.download(with.y.get(), outputs[0]);
}

}  // namespace commensal::kernels::cuda
