// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/panels.hpp>

namespace commensal::kernels::cpu {

Panels::Panels(const BlockedKernels& kernels, std::int64_t columns, std::int64_t steps)
    : depth(steps), lanes(kernels.lanes) {
  const std::int64_t in_block = kBlock / lanes, blocks = blocks_of(columns);
  const std::int64_t wide = std::max<std::int64_t>(kernels.vectors_max / in_block, 1);
  for (std::int64_t block = 0; block < blocks;) {
    // A single vector is the slowest: 4 are 2 + 2 rather than 3 + 1.
    const std::int64_t left = blocks - block;
    const std::int64_t taken = wide > 1 && left == wide + 1 ? wide - 1 : std::min(left, wide);
    panels.push_back({block * in_block, static_cast<int>(taken * in_block)});
    block += taken;
  }
}

std::int64_t Panels::at(std::int64_t k, std::int64_t column) const {
  const std::int64_t vector = column / lanes;
  const auto next = std::ranges::upper_bound(panels, vector, {}, &Panel::vector);
  const Panel& panel = *(next - 1);
  return offset(panel, k) + (vector - panel.vector) * lanes + column % lanes;
}

}  // namespace commensal::kernels::cpu
