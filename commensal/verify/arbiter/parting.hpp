// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/verdict_file.hpp>

/// Where two sides part. Pure functions.
namespace commensal::arbiter {

/// Whether the job binds what the step was computed from: it is one step, without noise. Elsewhere
/// both claims must name one input root, which is for the rollout to check.
bool has_fixed_input(const protocol::Job& job);
/// The node that the words part in. Precondition: the file's matter is not kCarried.
std::uint64_t node_of(const VerdictFile& file);
/// What proofs about the segment in question are held against, of nodes before `node_limit`.
Ground ground_of(const VerdictFile& file, const GraphSizes& sizes, std::uint64_t node_limit);
/// Where two checkpoints part: the place of the first entry that differs. Nothing where they do not
/// hold the same values, which only the graph can decide.
std::optional<std::size_t> first_difference(const CheckpointLeaf& a, const CheckpointLeaf& b);
/// Where two lists of outputs part: the first output that differs, or the shorter's length.
std::size_t first_difference(const TraceLeaf& a, const TraceLeaf& b);
/// The first element of the leaf at `leaf_index` that differs; nothing where none does.
std::optional<std::uint64_t> first_difference(ByteView a, ByteView b, std::uint64_t element_bytes,
                                              std::uint64_t leaf_index);
/// A value in a leaf of steps. Precondition: it lies there.
std::uint64_t step_value(ByteView leaf, std::uint64_t step);
inline constexpr std::uint64_t kStepBytes = 8;
/// Leaves of the values of `steps` operations.
std::uint64_t step_leaves(std::uint64_t steps);
/// The length that leaf `index` of `bytes` bytes has.
std::uint64_t leaf_bytes(std::uint64_t bytes, std::uint64_t index);

}  // namespace commensal::arbiter
