// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/leaf_hashes.hpp>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/crypto/sha256.hpp>

namespace commensal::crypto {
namespace {

using core::ErrorCode;

constexpr std::uint8_t kLeafPrefix[] = {0x00};
constexpr std::uint8_t kNodePrefix[] = {0x01};
constexpr std::uint64_t kLeavesMax = std::uint64_t{1} << limits::kMerkleDepthMax;

std::vector<Digest> level_above(const std::vector<Digest>& level) {
  std::vector<Digest> above;
  above.reserve((level.size() + 1) / 2);
  for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
    above.push_back(node_hash(level[i], level[i + 1]));
  }
  // Without a right neighbour a subtree rises as it is: that is the split at a power of two.
  if (level.size() % 2 == 1) above.push_back(level.back());
  return above;
}

/// A node has a sibling on each level but those where it is the unpaired last one.
std::size_t path_length(std::uint64_t index, std::uint64_t count) {
  std::size_t length = 0;
  for (std::uint64_t last = count - 1; last > 0; last /= 2, index /= 2) {
    length += index % 2 == 1 || index < last;
  }
  return length;
}

}  // namespace

Digest leaf_hash(ByteView leaf) { return Sha256().update(kLeafPrefix).update(leaf).finish(); }

Digest node_hash(const Digest& left, const Digest& right) {
  return Sha256().update(kNodePrefix).update(left).update(right).finish();
}

void MerkleBuilder::add(const Digest& leaf_hash) {
  core::check(count_ < kLeavesMax, "a Merkle tree has too many leaves");
  peaks_.push_back(leaf_hash);
  for (std::uint64_t rest = count_; rest % 2 == 1; rest /= 2) {
    const Digest right = peaks_.back();
    peaks_.pop_back();
    peaks_.back() = node_hash(peaks_.back(), right);
  }
  ++count_;
}

Digest MerkleBuilder::root() const {
  if (peaks_.empty()) return sha256({});
  Digest root = peaks_.back();
  for (std::size_t i = peaks_.size() - 1; i-- > 0;) root = node_hash(peaks_[i], root);
  return root;
}

Digest merkle_root(std::span<const Digest> leaf_hashes) {
  MerkleBuilder builder;
  for (const Digest& leaf : leaf_hashes) builder.add(leaf);
  return builder.root();
}

Digest merkle_root_of_bytes(ByteView bytes, std::size_t leaf_bytes) {
  core::check(leaf_bytes > 0, "Merkle leaves of no bytes");
  MerkleBuilder builder;
  Digest hashes[64];
  constexpr std::size_t kChunkBytes = std::size(hashes) * kMerkleLeafBytes;
  for (; leaf_bytes == kMerkleLeafBytes && bytes.size() >= kChunkBytes;
       bytes = bytes.subspan(kChunkBytes)) {
    leaf_hashes(bytes.first(kChunkBytes), hashes);
    for (const Digest& hash : hashes) builder.add(hash);
  }
  while (!bytes.empty()) {
    const std::size_t size = std::min(leaf_bytes, bytes.size());
    builder.add(leaf_hash(bytes.first(size)));
    bytes = bytes.subspan(size);
  }
  return builder.root();
}

MerkleTree::MerkleTree(std::vector<Digest> leaf_hashes) {
  core::check(!leaf_hashes.empty(), "a Merkle tree for proofs needs a leaf");
  levels_.push_back(std::move(leaf_hashes));
  while (levels_.back().size() > 1) levels_.push_back(level_above(levels_.back()));
}

MerkleProof MerkleTree::prove(std::uint64_t index) const {
  core::check(index < levels_.front().size(), "Merkle proof of a leaf that is not there");
  MerkleProof proof{index, levels_.front().size(), {}};
  for (const std::vector<Digest>& level : levels_) {
    const std::uint64_t sibling = index ^ 1;
    if (sibling < level.size()) proof.path.push_back(level[sibling]);
    index /= 2;
  }
  return proof;
}

MerkleProof merkle_prove(std::span<const Digest> leaf_hashes, std::uint64_t index) {
  return MerkleTree({leaf_hashes.begin(), leaf_hashes.end()}).prove(index);
}

core::Result<Digest> merkle_root_of_proof(const Digest& leaf_hash, std::uint64_t index,
                                          std::uint64_t count, std::span<const Digest> path) {
  if (count > kLeavesMax) {
    return core::fail(ErrorCode::kInvalidArgument, "Merkle proof: {} leaves, at most {} allowed",
                      count, kLeavesMax);
  }
  if (index >= count) {
    return core::fail(ErrorCode::kInvalidArgument, "Merkle proof: index {} of {} leaves", index,
                      count);
  }
  if (path.size() != path_length(index, count)) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "Merkle proof: path of {} hashes, expected {} for leaf {} of {}", path.size(),
                      path_length(index, count), index, count);
  }
  Digest hash = leaf_hash;
  auto sibling = path.begin();
  for (std::uint64_t last = count - 1; last > 0; last /= 2, index /= 2) {
    if (index % 2 == 1) {
      hash = node_hash(*sibling++, hash);
    } else if (index < last) {
      hash = node_hash(hash, *sibling++);
    }
  }
  return hash;
}

core::Result<void> merkle_verify(const Digest& root, const Digest& leaf_hash, std::uint64_t index,
                                 std::uint64_t count, std::span<const Digest> path) {
  COMMENSAL_ASSIGN(const Digest hash, merkle_root_of_proof(leaf_hash, index, count, path));
  if (hash != root) {
    return core::fail(ErrorCode::kInvalidArgument, "Merkle proof: leads to root {}, expected {}",
                      core::to_hex(hash), core::to_hex(root));
  }
  return {};
}

}  // namespace commensal::crypto
