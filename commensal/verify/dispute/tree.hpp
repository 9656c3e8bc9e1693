// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/verify/arbiter/descent.hpp>

namespace commensal::dispute {

/// A Merkle tree with all that lies under it, of which a side shows parts.
class Tree {
 public:
  Tree() = default;
  /// Over leaves of any length.
  explicit Tree(std::vector<core::Bytes> leaves);
  /// Over leaves of 1 KiB; `threads` hashes.
  Tree(core::Bytes bytes, kernels::ThreadPool& threads);

  std::size_t size() const { return hashes_.size(); }  // leaves
  core::Digest root() const;
  core::ByteView leaf(std::uint64_t index) const;
  arbiter::LeafProof prove(std::uint64_t index) const;
  /// What a walk down asks for next, encoded: the leaf, or the two hashes below where it stands.
  core::Bytes show(const arbiter::Descent& descent) const;

 private:
  core::Bytes bytes_;  // empty where `leaves_` has them
  std::vector<core::Bytes> leaves_;
  std::vector<core::Digest> hashes_;  // of the leaves
};

/// Hashes of the 1 KiB leaves of `bytes`, on all threads of the pool.
std::vector<core::Digest> leaf_hashes(core::ByteView bytes, kernels::ThreadPool& threads);

}  // namespace commensal::dispute
