// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/arbiter/parting.hpp>

namespace commensal::arbiter {

bool has_fixed_input(const protocol::Job& job) {
  return job.steps == 1 && job.noise == protocol::NoisePolicy::kNone;
}

std::uint64_t node_of(const VerdictFile& file) {
  const Word& word = file.words[0];
  return segment_first(word.claim.nodes, word.checkpoint.index) + word.trace.index;
}

Ground ground_of(const VerdictFile& file, const GraphSizes& sizes, std::uint64_t node_limit) {
  const protocol::Job& job = file.receipt.job;
  const Word &a = file.words[0], &b = file.words[1];
  Ground ground{job.graph_root, job.weight_root, a.claim.input_root, sizes, {}, {}, 0, 0, {}};
  ground.traces = {a.claim.trace_root, b.claim.trace_root};
  ground.segments = {a.segment.nodes_root, b.segment.nodes_root};
  ground.segment = a.checkpoint.index;
  ground.node_limit = node_limit;
  if (ground.segment > 0) ground.checkpoint = ground.segment - 1;
  return ground;
}

std::optional<std::size_t> first_difference(const CheckpointLeaf& a, const CheckpointLeaf& b) {
  if (a.live.size() != b.live.size()) return std::nullopt;
  std::optional<std::size_t> place;
  for (std::size_t i = a.live.size(); i-- > 0;) {
    if (a.live[i].number != b.live[i].number) return std::nullopt;
    if (a.live[i] != b.live[i]) place = i;
  }
  return place;
}

std::size_t first_difference(const TraceLeaf& a, const TraceLeaf& b) {
  const std::size_t both = std::min(a.outputs.size(), b.outputs.size());
  for (std::size_t o = 0; o < both; ++o) {
    if (a.outputs[o] != b.outputs[o]) return o;
  }
  return both;
}

std::optional<std::uint64_t> first_difference(ByteView a, ByteView b, std::uint64_t element_bytes,
                                              std::uint64_t leaf_index) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) {
      return (leaf_index * crypto::kMerkleLeafBytes + i) / element_bytes;
    }
  }
  return std::nullopt;
}

std::uint64_t step_value(ByteView leaf, std::uint64_t step) {
  const std::uint64_t first = step * kStepBytes % crypto::kMerkleLeafBytes;
  core::check(first + kStepBytes <= leaf.size(), "a step is read from the leaf it lies in");
  std::uint64_t value = 0;
  for (std::uint64_t i = kStepBytes; i-- > 0;) value = value << 8 | leaf[first + i];
  return value;
}

std::uint64_t step_leaves(std::uint64_t steps) {
  return (steps * kStepBytes + crypto::kMerkleLeafBytes - 1) / crypto::kMerkleLeafBytes;
}

std::uint64_t leaf_bytes(std::uint64_t bytes, std::uint64_t index) {
  const std::uint64_t begin = index * crypto::kMerkleLeafBytes;
  return begin >= bytes ? 0 : std::min<std::uint64_t>(bytes - begin, crypto::kMerkleLeafBytes);
}

}  // namespace commensal::arbiter
