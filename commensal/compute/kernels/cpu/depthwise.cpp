// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/depthwise.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>

namespace commensal::kernels::cpu {

bool suits_depthwise(const shape_inference::Conv& conv) {
  constexpr std::int64_t kFew = 4;  // outputs of one plane, beyond which a product reads it less
  const bool is_apart = conv.group > 1 || conv.group_out_channels() <= kFew;
  return conv.group_channels() == 1 && is_apart && TapLayout::suits(conv.window);
}

core::Result<void> depthwise(const shape_inference::Conv& conv, const TapLayout& layout,
                             const Call& call, Tensor& output, Workspace& ws) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const float* x = call.in(0).data<float>().data();
  const float* w = call.in(1).data<float>().data();
  const float* bias = conv.has_bias ? call.in(2).data<float>().data() : nullptr;
  float* y = output.mutable_data<float>().data();
  const std::int64_t in_plane = conv.window.in_elements(), out_plane = conv.window.out_elements();
  const std::int64_t multiplier = conv.group_out_channels();
  return run_with_scratch(ws, conv.batch * conv.channels, layout.plane_floats() + kernels.lanes,
                          [&](std::int64_t i, float* scratch) {
                            Pulse pulse(&ws.threads);
                            layout.fill(pulse, kernels, x + i * in_plane, 0.0f, scratch);
                            for (std::int64_t m = 0; m < multiplier; ++m) {
                              const std::int64_t o = i % conv.channels * multiplier + m;
                              TapPlane plane =
                                  layout.plane(scratch, y + (i * multiplier + m) * out_plane);
                              plane.weights = w + o * conv.window.taps();
                              plane.bias = bias == nullptr ? 0.0f : bias[o];
                              fold_taps(pulse, layout, plane, kernels.taps.chain);
                            }
                          });
}

}  // namespace commensal::kernels::cpu
