// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/math/winograd.hpp>
#include <commensal/compute/kernels/math/winograd_filter.hpp>

namespace commensal::kernels::math {

void winograd_filter(int tile, const float* filter, float* out) {
  core::check(tile == 2 || tile == 4, "a Winograd tile has a side of 2 or 4");
  if (tile == 2) return winograd_filter_of<2>(filter, out);
  winograd_filter_of<4>(filter, out);
}

}  // namespace commensal::kernels::math
