// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/blocked/ops.hpp>
#include <commensal/compute/kernels/internal_rows.hpp>

namespace commensal::kernels {

// name, inputs min and max, kind, infer, cpu, pack
std::vector<InternalRow> blocked_rows() {
  using namespace cpu;
  constexpr Kind kSum = Kind::kReduction, kEach = Kind::kElementwise, kMove = Kind::kMovement;
  return {
      {"BlockedAveragePool", 1, 1, kSum, infer_blocked_pool, blocked_average_pool},
      {"BlockedBinary", 2, 2, kEach, infer_blocked_same, blocked_binary},
      {"BlockedChannels", 1, limits::kNodeInputsMax, kMove, infer_blocked_channels,
       blocked_channels, pack_blocked_channels},
      {"BlockedConv", 2, 4, Kind::kDotProduct, infer_blocked_conv, blocked_conv, pack_blocked_conv},
      {"BlockedExpand", 3, 5, Kind::kDotProduct, infer_blocked_expand, blocked_expand,
       pack_blocked_expand},
      {"BlockedGlobalAveragePool", 1, 1, kSum, infer_blocked_global_pool,
       blocked_global_average_pool},
      {"BlockedMaxPool", 1, 1, kSum, infer_blocked_pool, blocked_max_pool},
      {"BlockedNormalise", 5, 5, kEach, infer_blocked_same, blocked_normalise,
       pack_blocked_normalise},
      {"BlockedToLast", 1, 1, kMove, infer_blocked_to_last, blocked_to_last},
      {"FromBlocked", 1, 1, kMove, infer_from_blocked, from_blocked},
      {"LastToBlocked", 1, 1, kMove, infer_last_to_blocked, last_to_blocked},
      {"ToBlocked", 1, 1, kMove, infer_to_blocked, to_blocked},
  };
}

}  // namespace commensal::kernels
