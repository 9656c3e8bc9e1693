// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/panels.hpp>

namespace commensal::kernels::cpu {

Panels::Panels(const BlockedKernels& kernels, std::int64_t columns, std::int64_t steps,
               std::int64_t unit)
    : depth(steps), lanes(kernels.lanes) {
  const std::int64_t in_unit = std::max<std::int64_t>(unit / lanes, 1);
  const std::int64_t units = ceil_div(columns, in_unit * lanes);
  const std::int64_t wide = std::max<std::int64_t>(kernels.vectors_max / in_unit, 1);
  for (std::int64_t at = 0; at < units;) {
    // A single vector is the slowest: 4 are 2 + 2 rather than 3 + 1.
    const std::int64_t left = units - at;
    const std::int64_t taken = wide > 1 && left == wide + 1 ? wide - 1 : std::min(left, wide);
    panels.push_back({at * in_unit, static_cast<int>(taken * in_unit)});
    at += taken;
  }
}

std::int64_t Panels::at(std::int64_t k, std::int64_t column) const {
  const std::int64_t vector = column / lanes;
  const auto next = std::ranges::upper_bound(panels, vector, {}, &Panel::vector);
  const Panel& panel = *(next - 1);
  return offset(panel, k) + (vector - panel.vector) * lanes + column % lanes;
}

}  // namespace commensal::kernels::cpu
