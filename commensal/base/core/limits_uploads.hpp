// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of models' files that come in pieces, and of those that are to go: see limits.hpp.
namespace commensal::limits {

inline constexpr std::size_t kUploadsMax = 8;                     // unfinished, of one account
inline constexpr std::int64_t kUploadPieceBytesMax = 8 << 20;     // of one request
inline constexpr std::int64_t kUploadMsMax = 86'400'000;          // then an unfinished one ends
inline constexpr std::int64_t kUploadRetryMs = 10'000;            // after a push that failed
inline constexpr std::size_t kUploadMetadataBytesMax = 32 << 10;  // what is said of one
// A file that no model has stays that long at least: for what was under way.
inline constexpr std::int64_t kDroppedFileMs = 3'600'000;
// A deleted model's name, and the number of its last version, stay known for so long after its
// receipts' age.
inline constexpr std::int64_t kFormerModelMs = 86'400'000;
// How often it is looked for what is to go, and how much of it in one turn of the loop.
inline constexpr std::int64_t kRemovalLookMs = 60'000;
inline constexpr std::size_t kRemovalRowsMax = 64, kRemovalFilesMax = 64;
// Which providers have which models: so many are known, so many looked at in one turn of the loop,
// in a row of one provider or model fewer, each once in so long on disk with when it was used; of
// versions with one file so many are looked at.
inline constexpr std::size_t kHoldersMax = 1 << 16, kHoldersLookedAtMax = 256;
inline constexpr std::size_t kHoldersInARowMax = 64;
inline constexpr std::int64_t kHolderUsedMs = 600'000;
inline constexpr std::size_t kSameFilesMax = 64;
// Without work of a private model; then its providers are asked to let go of it.
inline constexpr std::int64_t kPrivateIdleMs = 86'400'000;

}  // namespace commensal::limits
