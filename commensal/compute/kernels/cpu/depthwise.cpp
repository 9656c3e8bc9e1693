// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/conv_taps.hpp>
#include <commensal/compute/kernels/cpu/depthwise.hpp>
#include <commensal/compute/kernels/cpu/phases.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

Phases phases_of(const ConvGeometry& g, int lanes) {
  return {.parts = g.stride_x,
          .rows = g.in_height + g.pad_top + g.pad_bottom,
          .width = (g.in_width + g.pad_left + g.pad_right + g.stride_x - 1) / g.stride_x,
          .lanes = lanes};
}

std::vector<std::int64_t> tap_offsets(const ConvGeometry& g, const Phases& phases) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t ky = 0; ky < g.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < g.kernel_width; ++kx) {
      const std::int64_t x = kx * g.dilation_x;
      offsets.push_back(x % g.stride_x * phases.part_floats() + ky * g.dilation_y * phases.width +
                        x / g.stride_x);
    }
  }
  return offsets;
}

}  // namespace

core::Result<void> depthwise(const infer::Conv& conv, const Call& call, Tensor& output,
                             Workspace& ws) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const ConvGeometry geometry = geometry_of(conv.window);
  const Phases phases = phases_of(geometry, kernels.lanes);
  const std::vector<std::int64_t> offsets = tap_offsets(geometry, phases);
  const float* x = call.in(0).data<float>().data();
  const float* w = call.in(1).data<float>().data();
  const float* bias = conv.has_bias ? call.in(2).data<float>().data() : nullptr;
  float* y = output.mutable_data<float>().data();
  const std::int64_t out_plane = conv.window.out_elements(), taps = conv.window.taps();
  const std::int64_t multiplier = conv.group_out_channels();
  return run_with_scratch(
      ws, conv.batch * conv.channels, phases.floats(), [&](std::int64_t i, float* scratch) {
        phases.fill(kernels, x + i * conv.window.in_elements(), geometry.in_height,
                    geometry.in_width, geometry.pad_top, geometry.pad_left, scratch);
        for (std::int64_t m = 0; m < multiplier; ++m) {
          const std::int64_t o = i % conv.channels * multiplier + m;
          kernels.depthwise({.in = scratch,
                             .in_step = geometry.stride_y * phases.width,
                             .offsets = offsets.data(),
                             .weights = w + o * taps,
                             .taps = static_cast<int>(taps),
                             .bias = bias == nullptr ? 0.0f : bias[o],
                             .out = y + (i * multiplier + m) * out_plane,
                             .height = geometry.out_height,
                             .width = geometry.out_width});
        }
      });
}

}  // namespace commensal::kernels::cpu
