// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/conv_taps.hpp>
#include <commensal/compute/kernels/cpu/phases.hpp>
#include <vector>

/// Windows over single planes, for depthwise convolutions and pools.
namespace commensal::kernels::cpu {

/// How the planes of a call lie in scratch memory, and where its taps read.
struct TapLayout {
  ConvGeometry geometry;
  Phases phases;
  std::vector<std::int64_t> offsets;

  /// Whether a padded copy of a plane is small and worth its while.
  static bool suits(const infer::Window& window);
  TapLayout(const CpuKernels& kernels, const infer::Window& window);

  /// Copies a plane to `scratch` (phases.floats()), with `around` in the padding.
  void fill(const CpuKernels& kernels, const float* plane, float around, float* scratch) const {
    phases.fill(kernels, plane, geometry.in_height, geometry.in_width, geometry.pad_top,
                geometry.pad_left, scratch, around);
  }
  TapPlane plane(const float* scratch, float* out) const;
};

}  // namespace commensal::kernels::cpu
