// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/math/device.hpp>

/// The filter transform of the Winograd clause (docs/numerics.md), for every back end: plain
/// binary64 operators, which no compiler of ours may fuse.
namespace commensal::kernels::math {

#include <commensal/compute/kernels/math/winograd_filter_inl.hpp>

/// Binary64, one at a time; cpu/ has lanes of them.
struct OneDouble {
  using V = double;
  COMMENSAL_DEVICE static V set(double x) { return x; }
  COMMENSAL_DEVICE static V add(V a, V b) { return a + b; }
  COMMENSAL_DEVICE static V mul(V a, V b) { return a * b; }
};

/// One filter, rounded.
template <int kTile>
COMMENSAL_DEVICE inline void winograd_filter_of(const float* filter, float* out) {
  constexpr int kPoints = (kTile + 2) * (kTile + 2);
  double f[9], u[kPoints];
  for (int i = 0; i < 9; ++i) f[i] = static_cast<double>(filter[i]);
  winograd_filter_in<OneDouble, kTile>(f, u);
  for (int p = 0; p < kPoints; ++p) out[p] = static_cast<float>(u[p]);
}

}  // namespace commensal::kernels::math
