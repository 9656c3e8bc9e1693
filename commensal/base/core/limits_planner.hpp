// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Bounds of what the planner reads.
namespace commensal::limits {

inline constexpr std::size_t kProfileBytesMax = 1 << 16;  // of a file
inline constexpr std::size_t kProfileTextBytesMax = 128;  // of a name in it
inline constexpr std::size_t kPlanGuestsMax = 5;          // every assignment to instances is tried

}  // namespace commensal::limits
