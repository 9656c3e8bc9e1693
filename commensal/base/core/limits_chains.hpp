// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Bounds of chains only, apart from limits.hpp: whoever changes one builds less anew.
namespace commensal::limits {

/// As many hashes lead from a link's noise to the job's anchor.
inline constexpr std::uint64_t kChainLinksMax = 1 << 20;
inline constexpr std::size_t kChainsLiveMax = 64;        // at hand, of one provider or gateway
inline constexpr std::size_t kChainsKeptMax = 4096;      // in the store of one provider or gateway
// Links that a provider computes for nothing, as their gateway signed too late: so many beside one
// for each of the gateway's chains at hand, which is what a crash costs.
inline constexpr std::uint64_t kLateLinksMax = 2;
inline constexpr std::uint64_t kLinksPerLate = 32;  // with tickets: they make up for one
inline constexpr std::size_t kChainWaitersMax = 256;     // who wait for one gateway's progress
inline constexpr std::int64_t kChainWaitMsMax = 30'000;  // of one such request
inline constexpr std::size_t kLinkAuditsOpenMax = 256;   // of one chain; then it waits for them
inline constexpr std::size_t kLinkMismatchesListedMax = 1000;  // of one chain, in one answer

}  // namespace commensal::limits
