// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/limits.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace commensal::crypto {

// Merkle trees over SHA-256 as in RFC 6962, section 2.1: a leaf is hashed behind 0x00, a node
// behind 0x01, and a tree of n leaves splits at the largest power of two below n, so that no leaf
// is ever repeated. The tree of no leaves has the root SHA-256("").
// Trees have at most 2^limits::kMerkleDepthMax leaves. Everything here is a pure function.

using core::ByteView;
using core::Digest;

inline constexpr std::size_t kMerkleLeafBytes = 1024;

Digest leaf_hash(ByteView leaf);
Digest node_hash(const Digest& left, const Digest& right);

/// The root of leaves that arrive one after the other, in O(log n) memory.
class MerkleBuilder {
 public:
  void add(const Digest& leaf_hash);
  std::uint64_t count() const { return count_; }
  /// The root of what was added so far; more may follow.
  Digest root() const;

 private:
  std::uint64_t count_ = 0;
  std::vector<Digest> peaks_;  // one complete subtree for each bit set in count_, largest first
};

Digest merkle_root(std::span<const Digest> leaf_hashes);

/// The root over consecutive leaves of `leaf_bytes` bytes, the last one shorter if need be. The
/// length is not part of it: hash it beside the root where it matters.
Digest merkle_root_of_bytes(ByteView bytes, std::size_t leaf_bytes = kMerkleLeafBytes);

/// Says that a leaf stands at `index` of `count`. The root does not bind `count`: whoever signs a
/// root signs the count too.
struct MerkleProof {
  std::uint64_t index = 0;
  std::uint64_t count = 0;
  std::vector<Digest> path;  // siblings from the leaf up
  bool operator==(const MerkleProof&) const = default;
};

/// All levels of a tree, for many proofs of the same leaves (64 bytes a leaf).
class MerkleTree {
 public:
  /// Precondition: at least one leaf.
  explicit MerkleTree(std::vector<Digest> leaf_hashes);
  const Digest& root() const { return levels_.back().front(); }
  /// Precondition: index < number of leaves.
  MerkleProof prove(std::uint64_t index) const;

 private:
  std::vector<std::vector<Digest>> levels_;  // leaves first
};

/// One proof. Precondition: index < leaf_hashes.size().
MerkleProof merkle_prove(std::span<const Digest> leaf_hashes, std::uint64_t index);

/// The root that the path leads to. Error: kInvalidArgument, which names what is wrong: number of
/// leaves, index or length of the path.
core::Result<Digest> merkle_root_of_proof(const Digest& leaf_hash, std::uint64_t index,
                                          std::uint64_t count, std::span<const Digest> path);

/// Errors: as merkle_root_of_proof, or another root.
core::Result<void> merkle_verify(const Digest& root, const Digest& leaf_hash, std::uint64_t index,
                                 std::uint64_t count, std::span<const Digest> path);

}  // namespace commensal::crypto
