// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <optional>

namespace commensal::kernels::cpu {

/// How a Conv would run on blocked pictures; the planner of graphs writes it into attributes.
struct BlockedConvPlan {
  std::int64_t way = 0;  // a ConvWay
  std::int64_t winograd_tile = 0;
  bool from_picture = false;  // it would rather read [N, C, H, W]: so few channels
};

/// None where there is no blocked kernel for this Conv: of anything but binary32 pictures, with
/// weights that are not finite, or with groups of odd sizes. `call`: X (of which only the type is
/// looked at), constant W, constant bias or none.
std::optional<BlockedConvPlan> plan_blocked_conv(const Call& call);

}  // namespace commensal::kernels::cpu
