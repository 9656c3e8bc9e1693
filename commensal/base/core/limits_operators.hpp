// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of single operators, apart from limits.hpp since no other room needs them.
namespace commensal::limits {

inline constexpr std::int64_t kTargetsMax = 1 << 20;    // scores of one row
inline constexpr std::int64_t kTreeStepsMax = 1 << 24;  // of one row, in all trees together
inline constexpr std::int64_t kStringsMadeMax = 1 << 24;  // by one operator, and their bytes
inline constexpr std::int64_t kStringBytesMadeMax = 1 << 28;
inline constexpr std::size_t kPatternBytesMax = 1 << 12;  // a regular expression
inline constexpr std::size_t kPatternStatesMax = 1 << 14;
inline constexpr int kPatternDepthMax = 128;
inline constexpr std::int64_t kGramSkipsMax = 1 << 10;  // of TfIdfVectorizer

}  // namespace commensal::limits
