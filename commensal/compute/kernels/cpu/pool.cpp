// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and the global ones.
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>
#include <limits>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

bool is_float32(const Call& call) { return call.in(0).dtype() == tensor::DType::kFloat32; }

/// Runs `fold` over all planes; `around` is what leaves a fold as it is.
core::Result<void> pool_planes(const shape_inference::Pool& pool, const Call& call, Tensor& output,
                               Workspace& ws, void (*fold)(const TapPlane&), float around,
                               const float* divisors) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const TapLayout layout(pool.window);
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  const std::int64_t in_plane = pool.window.in_elements(), out_plane = pool.window.out_elements();
  return run_with_scratch(ws, pool.planes, layout.plane_floats() + kernels.lanes,
                          [&](std::int64_t i, float* scratch) {
                            layout.fill(kernels, x + i * in_plane, around, scratch);
                            TapPlane plane = layout.plane(scratch, y + i * out_plane);
                            plane.divisors = divisors;
                            fold_taps(ws.threads, plane, fold);
                          });
}

bool is_code(const Call& call) {
  return call.in(0).dtype() == tensor::DType::kUint8 || call.in(0).dtype() == tensor::DType::kInt8;
}

/// As numbers, which 8-bit codes are exactly; the maximum of nothing is the lowest code.
core::Result<void> max_pool_of_codes(const shape_inference::Pool& pool, const Call& call,
                                     Tensor& output, Workspace& ws) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const CodeKernels& code_kernels = code_kernels_for(ws.isa);
  const TapLayout layout(pool.window);
  const std::int64_t in = pool.window.in_elements(), out = pool.window.out_elements();
  const float one = 1;
  const std::int32_t none = 0;
  const auto row = [&](std::int64_t count) {
    return LinearRow{.count = count, .scales = &one, .zeros = &none, .codes = call.in(0).dtype()};
  };
  const std::int64_t split = layout.plane_floats() + kernels.lanes;
  return run_with_scratch(
      ws, pool.planes, std::max(in, out) + split, [&](std::int64_t i, float* scratch) {
        float* const plane = scratch + split;
        code_kernels.dequantise(row(in), call.in(0).bytes().data() + i * in, plane);
        layout.fill(kernels, plane, -std::numeric_limits<float>::infinity(), scratch);
        fold_taps(ws.threads, layout.plane(scratch, plane), kernels.taps.maximum);
        code_kernels.quantise(row(out), plane, output.mutable_bytes().data() + i * out);
      });
}

}  // namespace

core::Result<void> max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Pool pool, shape_inference::pool_of(call));
  if (is_code(call) && outputs.size() == 1 && TapLayout::suits(pool.window)) {
    return max_pool_of_codes(pool, call, outputs[0], ws);
  }
  if (!is_float32(call) || outputs.size() > 1 || !TapLayout::suits(pool.window)) {
    return ref::kMaxPool.best()(call, outputs, ws);
  }
  return pool_planes(pool, call, outputs[0], ws, kernels_for(ws.isa).taps.maximum,
                     -std::numeric_limits<float>::infinity(), nullptr);
}

core::Result<void> average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Pool pool, shape_inference::pool_of(call));
  if (!is_float32(call) || !TapLayout::suits(pool.window)) {
    return ref::kAveragePool.best()(call, outputs, ws);
  }
  const std::vector<float> divisors = pool.divisors();
  return pool_planes(pool, call, outputs[0], ws, kernels_for(ws.isa).taps.average, -0.0f,
                     divisors.data());
}

core::Result<void> global_average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const shape_inference::Pool pool, shape_inference::global_pool_of(call));
  if (!is_float32(call)) return ref::kGlobalAveragePool.best()(call, outputs, ws);
  const CpuKernels& kernels = kernels_for(ws.isa);
  const float* x = call.in(0).data<float>().data();
  float* y = outputs[0].mutable_data<float>().data();
  const std::int64_t plane = pool.window.in_elements();
  constexpr std::int64_t kPlanes = 16;  // of a task
  ws.threads.run((pool.planes + kPlanes - 1) / kPlanes, [&](std::int64_t task) {
    for (std::int64_t i = task * kPlanes; i < std::min(pool.planes, (task + 1) * kPlanes); ++i) {
      const float mean = kernels.sum(x + i * plane, plane) / static_cast<float>(plane);
      y[i] = mean != mean ? std::numeric_limits<float>::quiet_NaN() : mean;
    }
  });
  return {};
}

}  // namespace commensal::kernels::cpu
