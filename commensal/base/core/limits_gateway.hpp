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

inline constexpr std::size_t kModelsListedMax = 1000;        // in one answer
inline constexpr std::size_t kModelVersionsMax = 1000;       // of one model
inline constexpr std::size_t kPortNamesBytesMax = 64 << 10;  // of one model's inputs and outputs
// A rollout whose provider is away that long ends: what was set aside for it is the account's
// again.
inline constexpr std::int64_t kRolloutAwayMsMax = 3'600'000;

}  // namespace commensal::limits
