// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and GlobalAveragePool on blocked pictures.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/ops.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::kernels::cpu {

namespace {

/// The pool as if each block were a channel.
core::Result<shape_inference::Pool> pool_of(const Call& call) {
  const BlockedShape x = BlockedShape::of(call.in(0).shape());
  const TensorType plain{tensor::DType::kFloat32, {x.batch, x.blocks, x.height, x.width}};
  const Tensor picture = tensor::stand_in(plain);
  const Tensor* inputs[] = {&picture};
  Call usual = call;
  usual.inputs = inputs;
  usual.output_count = 1;
  return shape_inference::pool_of(usual);
}

/// Where the first tap of an output position reads that is inside the picture; 0 if none is.
std::int64_t place_of(const shape_inference::Window& w, std::size_t d, std::int64_t out) {
  const auto [begin, count] = w.inside(d, out);
  return count == 0 ? 0 : out * w.stride[d] - w.pad_begin[d] + begin * w.dilation[d];
}

constexpr std::int64_t kTapsAtOnce = 1 << 14;  // of a block's channels, before others may run

/// Of an output position, at most.
std::int64_t steps_of(const shape_inference::Window& w) {
  return std::max<std::int64_t>(std::min(w.kernel[0], w.in[0]) * std::min(w.kernel[1], w.in[1]), 1);
}

Done pool_all(const Call& call, Outputs outputs, Workspace& ws, bool averages) {
  COMMENSAL_ASSIGN(const shape_inference::Pool pool, pool_of(call));
  const shape_inference::Window& w = pool.window;
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const BlockedShape in = BlockedShape::of(call.in(0).shape());
  const BlockedShape out = BlockedShape::of(outputs[0].shape());
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  std::vector<PoolColumn> columns;
  for (std::int64_t column = 0; column < out.width; ++column) {
    const auto [begin, count] = w.inside(1, column);
    columns.push_back(
        {place_of(w, 1, column), static_cast<std::uint32_t>(begin), static_cast<int>(count)});
  }
  const std::vector<float> divisors = averages ? pool.divisors(call.pulse) : std::vector<float>{};
  const std::int64_t columns_at_once = std::max<std::int64_t>(kTapsAtOnce / steps_of(w), 1);
  for_each_plane(out, ws.threads, [&](std::int64_t plane, Range rows) {
    Pulse pulse(&ws.threads);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const auto [begin, count] = w.inside(0, row);
      PoolRow r;
      r.from = x + plane * in.plane() + place_of(w, 0, row) * in.width * kBlock;
      r.row_step = w.dilation[0] * in.width * kBlock;
      r.column_step = w.dilation[1] * kBlock;
      r.height = static_cast<int>(count), r.first_row = static_cast<std::uint32_t>(begin);
      r.taps_across = static_cast<std::uint32_t>(w.kernel[1]);
      for (std::int64_t i = 0; i < out.width; i += r.count) {
        r.count = static_cast<int>(std::min(columns_at_once, out.width - i));
        r.columns = columns.data() + i;
        r.divisors = averages ? divisors.data() + row * out.width + i : nullptr;
        r.out = y + plane * out.plane() + (row * out.width + i) * kBlock;
        pulse(r.count * steps_of(w));
        (averages ? kernels.average_row : kernels.maximum_row)(r);
      }
    }
  });
  return {};
}

}  // namespace

Types infer_blocked_pool(const Call& call) {
  COMMENSAL_ASSIGN(const shape_inference::Pool pool, pool_of(call));
  const tensor::Shape& shape = pool.shape;
  return std::vector{BlockedShape{shape[0], shape[1], shape[2], shape[3]}.type()};
}

std::int64_t blocked_pool_steps(const Call& call) {
  const auto pool = pool_of(call);
  return pool ? steps_of(pool->window) : 0;
}

Done blocked_max_pool(const Call& call, Outputs outputs, Workspace& ws) {
  return pool_all(call, outputs, ws, false);
}

Done blocked_average_pool(const Call& call, Outputs outputs, Workspace& ws) {
  return pool_all(call, outputs, ws, true);
}

Types infer_blocked_global_pool(const Call& call) {
  const BlockedShape x = BlockedShape::of(call.in(0).shape());
  return std::vector{BlockedShape{x.batch, x.blocks, 1, 1}.type()};
}

Done blocked_global_average_pool(const Call& call, Outputs outputs, Workspace& ws) {
  const BlockedShape in = BlockedShape::of(call.in(0).shape());
  const auto mean = blocked_kernels_for(ws.isa).mean;
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  constexpr std::int64_t kTaskPlanes = 4;
  const std::int64_t planes = in.batch * in.blocks;
  ws.threads.run(ceil_div(planes, kTaskPlanes), [&](std::int64_t task) {
    const std::int64_t end = std::min(planes, (task + 1) * kTaskPlanes);
    for (std::int64_t i = task * kTaskPlanes; i < end; ++i) {
      mean(x + i * in.plane(), in.pixels(), y + i * kBlock);
    }
  });
  return {};
}

}  // namespace commensal::kernels::cpu
