// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Bounds of chains only, apart from limits.hpp: whoever changes one builds less anew.
namespace commensal::limits {

/// As many hashes lead from a link's noise to the job's anchor.
inline constexpr std::uint64_t kChainLinksMax = 1 << 20;

}  // namespace commensal::limits
