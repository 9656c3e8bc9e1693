// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what a ledger keeps of an accusation, and of what is kept to judge and play it.
namespace commensal::limits {

inline constexpr std::size_t kCaseReportsMax = 16;
// Who may be drawn to report, and how often its stake counts: each draw hashes all lots.
inline constexpr std::size_t kAuditorsListedMax = 4096;
inline constexpr std::uint64_t kAuditorLotsMax = 64;
// A provider answers for a job for no longer.
inline constexpr std::uint64_t kJobValidMsMax = 90ull * 86'400'000;
inline constexpr std::size_t kCaseMovesMax = 1 << 12;  // of both sides, while it is disputed
inline constexpr std::size_t kCoursesMax = 32;         // disputes that are followed move by move
inline constexpr std::uint64_t kDisputeListMax = 32;   // elements (arbiter::is_list)
// A rollout's state that an accusation shows, because noise goes onto it; and all that it shows.
inline constexpr std::uint64_t kOriginStateBytesMax = 1 << 18;
inline constexpr std::size_t kOriginBytesMax = 1 << 19;
inline constexpr std::int64_t kDisputeKeptBytesMax = 128 << 20;  // of a run, by one player

}  // namespace commensal::limits
