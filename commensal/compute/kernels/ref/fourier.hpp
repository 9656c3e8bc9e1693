// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/math/turns.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/shape_inference/fourier.hpp>
#include <vector>

namespace commensal::kernels::ref {

/// w(m) of all m in [0, n): cos, and sin or, forwards, -sin.
inline std::vector<math::Turned> factors_of(const shape_inference::Transform& transform,
                                            Pulse& pulse) {
  std::vector<math::Turned> made;
  made.reserve(static_cast<std::size_t>(transform.n));
  for (std::int64_t m = 0; m < transform.n; ++m) {
    pulse(16);
    made.push_back(math::turned(m, transform.n));
    if (!transform.inverse) made.back().sin = -made.back().sin;
  }
  return made;
}

}  // namespace commensal::kernels::ref
