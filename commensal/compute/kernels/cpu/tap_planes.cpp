// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/tap_planes.hpp>

namespace commensal::kernels::cpu {

namespace {

// What the last window reaches, in padded elements.
std::int64_t reach(std::int64_t out, std::int64_t stride, std::int64_t kernel,
                   std::int64_t dilation) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1;
}

}  // namespace

bool TapLayout::suits(const infer::Window& window) {
  constexpr std::int64_t kStrideMax = 4, kPadMax = 64, kTapsMax = 1024;
  if (window.rank > 2 || window.out_elements() == 0) return false;
  const ConvGeometry g = geometry_of(window);
  return std::max(g.stride_x, g.stride_y) <= kStrideMax &&
         std::max({g.pad_top, g.pad_left, g.pad_bottom, g.pad_right}) <= kPadMax &&
         g.kernel_height * g.kernel_width <= kTapsMax;
}

TapLayout::TapLayout(const CpuKernels& kernels, const infer::Window& window)
    : geometry(geometry_of(window)) {
  const ConvGeometry& g = geometry;
  phases.parts = g.stride_x;
  phases.rows = reach(g.out_height, g.stride_y, g.kernel_height, g.dilation_y);
  phases.width =
      (reach(g.out_width, g.stride_x, g.kernel_width, g.dilation_x) - 1) / g.stride_x + 1;
  phases.lanes = kernels.lanes;
  for (std::int64_t ky = 0; ky < g.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < g.kernel_width; ++kx) {
      const std::int64_t x = kx * g.dilation_x;
      offsets.push_back(x % g.stride_x * phases.part_floats() + ky * g.dilation_y * phases.width +
                        x / g.stride_x);
    }
  }
}

TapPlane TapLayout::plane(const float* scratch, float* out) const {
  TapPlane plane;
  plane.in = scratch;
  plane.in_step = geometry.stride_y * phases.width;
  plane.offsets = offsets.data();
  plane.taps = static_cast<int>(offsets.size());
  plane.out = out;
  plane.height = geometry.out_height;
  plane.width = geometry.out_width;
  return plane;
}

}  // namespace commensal::kernels::cpu
