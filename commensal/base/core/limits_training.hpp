// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what describes a training.
namespace commensal::limits {

inline constexpr std::int64_t kTrainingPlanBytesMax = 1 << 16;  // of the YAML file
inline constexpr std::size_t kTrainingSourcesMax = 64;
inline constexpr std::int64_t kTrainingStepsMax = 1 << 24;  // float32 counts them exactly
inline constexpr std::int64_t kTrainingBatchMax = 1 << 20;
inline constexpr std::int64_t kTrainingHeldOutMax = std::int64_t{1} << 40;  // samples
inline constexpr std::int64_t kTrainingPartsMax = 256;  // of a batch: each has its own nodes
inline constexpr std::int64_t kTrainingRankMax = 4096;  // of adapters
inline constexpr std::int64_t kTrainingClassMax = std::int64_t{1} << 40;  // that is ignored
inline constexpr std::int64_t kTrainingSeedMax = std::int64_t{1} << 53;   // a double holds it
// What the way back of one graph adds to it, values and bytes of constants; and what all Gradients
// of a model that is imported do: it came from anyone, and each may double what is there.
inline constexpr std::int64_t kGradientValuesMax = 1 << 22;
inline constexpr std::int64_t kGradientConstantBytesMax = std::int64_t{1} << 30;
inline constexpr std::int64_t kImportedGradientValuesMax = 1 << 18;
inline constexpr std::int64_t kImportedGradientConstantBytesMax = 64 << 20;
// Nodes and values that are read for them: each looks at all that is before it.
inline constexpr std::int64_t kImportedGradientReadsMax = 1 << 22;
// Of a segment that is a model, where nobody says how many steps it has.
inline constexpr std::int64_t kSegmentNodesMax = 1 << 19;

}  // namespace commensal::limits
