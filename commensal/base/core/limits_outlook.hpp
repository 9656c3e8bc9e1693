// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what is said of a model that does not run, or of the nodes inside its nodes.
namespace commensal::limits {

inline constexpr std::size_t kInnerNameBytesMax = 256;            // shown of a nested node's name
inline constexpr std::int64_t kAskedBytesMax = 64 << 20;          // that a kernel is asked about
inline constexpr std::int64_t kAskedScratchBytesMax = 256 << 20;  // that it may take for that
inline constexpr std::int64_t kChoosingYieldsMax = 1 << 12;       // before it is given up
inline constexpr std::int64_t kChoosingYieldsTotalMax = 1 << 14;  // of all nodes of a model
inline constexpr std::int64_t kGuessedBytesMax = 1 << 20;         // that a shape depends on

}  // namespace commensal::limits
