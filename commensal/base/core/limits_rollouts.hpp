// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Bounds of rollouts only, apart from limits.hpp: whoever changes one builds less anew.
namespace commensal::limits {

/// As many hashes lead from a step's noise to the job's anchor.
inline constexpr std::uint64_t kRolloutStepsMax = 1 << 20;
inline constexpr std::size_t kRolloutsLiveMax = 64;    // at hand, of one provider or gateway
inline constexpr std::size_t kRolloutsKeptMax = 4096;  // in the store of one provider or gateway
// What those take on the disk: at a gateway with every state that was delivered, of which an
// account has its own share besides; at a provider with the last one each.
inline constexpr std::uint64_t kGatewayRolloutBytesMax = std::uint64_t{128} << 30;
inline constexpr std::uint64_t kProviderRolloutBytesMax = std::uint64_t{16} << 30;
// Steps that a provider computes for nothing, as their gateway signed too late: so many beside one
// for each of the gateway's rollouts at hand, which is what a crash costs.
inline constexpr std::uint64_t kLateStepsMax = 2;
inline constexpr std::uint64_t kStepsPerLate = 32;         // with tickets: they make up for one
inline constexpr std::size_t kRolloutWaitersMax = 256;     // who wait for one gateway's progress
inline constexpr std::int64_t kRolloutWaitMsMax = 30'000;  // of one such request
inline constexpr std::size_t kStepAuditsOpenMax = 256;     // of one rollout; then it waits for them
inline constexpr std::size_t kStepMismatchesListedMax = 1000;  // of one rollout, in one answer

}  // namespace commensal::limits
