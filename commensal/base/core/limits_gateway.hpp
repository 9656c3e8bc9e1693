// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what one account or one provider may have of a gateway: see limits.hpp.
namespace commensal::limits {

inline constexpr std::uint32_t kProviderJobsMax =
    64;  // of one gateway at a time: others can follow
inline constexpr std::size_t kRequestsWaitingMax = 4096;  // for a provider
inline constexpr std::size_t kAccountRequestsWaitingMax = 1024;

}  // namespace commensal::limits
