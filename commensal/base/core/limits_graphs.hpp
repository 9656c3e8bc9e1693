// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what the planning of a graph holds and shows.
namespace commensal::limits {

inline constexpr int kNodeAttributesMax = 256;             // of a model's node
inline constexpr std::int64_t kFoldedBytesMax = 16 << 20;  // of what is computed ahead, a value
inline constexpr std::int64_t kFoldedOpsMax = std::int64_t{1} << 31;  // all of a graph's together
/// Likewise; and for each byte of its weights, which many networks keep narrower than they use
/// them.
inline constexpr std::int64_t kFoldedTotalBytesMax = 64 << 20;
inline constexpr std::int64_t kFoldedBytesAWeightByteMax = 8;
inline constexpr std::int64_t kPictureChannelsMax = 1 << 16;  // that layouts keep apart
/// Of the graphs inside nodes: what is folded to learn their types, a value; and, of all of a
/// model's, when they are planned as they run.
inline constexpr std::int64_t kFoldedInnerBytesMax = 64 << 10;
inline constexpr std::int64_t kFoldedInnerOpsMax = 1 << 28;
inline constexpr std::int64_t kFoldedInnerTotalBytesMax = 64 << 20;
inline constexpr std::int64_t kPlannedInnerNodesMax = 1 << 17;
inline constexpr std::int64_t kMemoBytesMax = 64 << 20;  // of a model, for all who run it
inline constexpr std::size_t kShownLineBytesMax = 300;   // of another library's message

}  // namespace commensal::limits
