// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/spot/multiproof.hpp>

namespace commensal::spot {
namespace {

using Indices = std::span<const std::uint64_t>;

/// A subtree of `count` leaves from `first` on, with those of `indices` that lie in it, not none.
/// Calls open(index) for a leaf, closed(first, count) for a subtree without any, both(result,
/// result) for what they make together.
template <class R, class Open, class Closed, class Both>
R walk(std::uint64_t first, std::uint64_t count, Indices indices, const Open& open,
       const Closed& closed, const Both& both) {
  if (indices.empty()) return closed(first, count);
  if (count == 1) return open(first);
  const std::uint64_t left = std::bit_floor(count - 1);
  const auto split = static_cast<std::size_t>(
      std::ranges::lower_bound(indices, first + left) - indices.begin());
  R a = walk<R>(first, left, indices.first(split), open, closed, both);
  R b = walk<R>(first + left, count - left, indices.subspan(split), open, closed, both);
  return both(a, b);
}

}  // namespace

std::vector<Digest> prove_leaves(std::span<const Digest> leaf_hashes, Indices indices) {
  std::vector<Digest> siblings;
  if (leaf_hashes.empty()) return siblings;
  const auto closed = [&](std::uint64_t first, std::uint64_t count) {
    siblings.push_back(crypto::merkle_root(leaf_hashes.subspan(first, count)));
    return 0;
  };
  walk<int>(
      0, leaf_hashes.size(), indices, [](std::uint64_t) { return 0; }, closed,
      [](int, int) { return 0; });
  return siblings;
}

std::size_t siblings_of(std::uint64_t count, Indices indices) {
  if (count == 0) return 0;
  return walk<std::size_t>(
      0, count, indices, [](std::uint64_t) { return std::size_t{0}; },
      [](std::uint64_t, std::uint64_t) { return std::size_t{1}; },
      [](std::size_t a, std::size_t b) { return a + b; });
}

Digest root_of_leaves(std::uint64_t count, Indices indices, std::span<const Digest> leaves,
                      std::span<const Digest> siblings) {
  if (count == 0) return crypto::merkle_root({});
  std::size_t leaf = 0, sibling = 0;
  const Digest root = walk<Digest>(
      0, count, indices, [&](std::uint64_t) { return leaves[leaf++]; },
      [&](std::uint64_t, std::uint64_t) { return siblings[sibling++]; }, crypto::node_hash);
  core::check(leaf == leaves.size() && sibling == siblings.size(), "a proof has been counted");
  return root;
}

}  // namespace commensal::spot
