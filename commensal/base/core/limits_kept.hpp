// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// How much is kept of what grows with every request, and of what peers make others keep.
namespace commensal::limits {

inline constexpr std::int64_t kReceiptAgeMs = std::int64_t{30} * 86'400'000;
// Larger ones are files of their own: rows are written page by page and twice (log and table), by
// the one thread that writes all of them.
inline constexpr std::uint64_t kOpeningRowBytesMax = 256 << 10;
// Larger ones are audited here alone, and nobody elsewhere is called for a case about them: what
// those are shown is read on the loop. Steps of rollouts are shown whatever their size.
inline constexpr std::uint64_t kOpeningShownBytesMax = std::uint64_t{2} << 20;
inline constexpr std::size_t kProvidersRememberedMax = 4096;  // that have worked, and are gone

inline constexpr std::size_t kBansMax = 4096;
inline constexpr std::int64_t kBanMs = std::int64_t{30} * 86'400'000;  // the first of a provider
inline constexpr std::size_t kBanWhyBytesMax = 512;
inline constexpr std::int64_t kTicketLapseMs = std::int64_t{3} * 86'400'000;
inline constexpr std::size_t kTicketShares = 8;  // of a book, one at most undecided for a provider

// Between two checkpoints of a ledger; its journal holds at most twice as many, and what waits to
// be removed.
inline constexpr std::uint64_t kCheckpointEntries = std::uint64_t{1} << 20;
inline constexpr std::size_t kLedgerAllowancesMax = 64;  // of one owner, at a time
inline constexpr std::uint32_t kLedgerChainsMax = 16;    // hash chains of one owner, ever
inline constexpr std::size_t kLedgerAllChainsMax = std::size_t{1} << 18;  // of all owners

}  // namespace commensal::limits
