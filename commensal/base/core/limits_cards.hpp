// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what owners say of their models in cards, and of looking for models: see limits.hpp.
namespace commensal::limits {

inline constexpr std::size_t kCardBytesMax = 64 << 10;
// Of its front matter: what its parser makes of a text grows with these, and its look ahead with a
// line.
inline constexpr std::size_t kCardLineBytesMax = 4096;
inline constexpr int kCardDepthMax = 16;
inline constexpr std::size_t kCardValuesMax = 1 << 14;
inline constexpr std::size_t kCardWordBytesMax = 256;  // of each text in it that is one of ours
inline constexpr std::size_t kCardTagsMax = 32;
inline constexpr std::size_t kCardSummaryBytesMax = 240;
inline constexpr std::int64_t kCardTopMax = 1000;  // of the greatest elements that are named

inline constexpr std::size_t kExploredMax = 100;  // models in one answer
inline constexpr std::size_t kExploreQueryBytesMax = 64, kExploreWordsMax = 8;
inline constexpr std::int64_t kExploreWorkMax = 1 << 20;  // comparisons of characters in one turn

}  // namespace commensal::limits
