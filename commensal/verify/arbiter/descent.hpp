// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/verify/arbiter/claims.hpp>
#include <commensal/verify/arbiter/facts.hpp>

namespace commensal::arbiter {

/// The two hashes below a node of a tree.
struct Children {
  Digest left{}, right{};
};

/// The walk down two trees of one size that differ at the root, to the first leaf in which they do:
/// both sides show the two hashes below the present node; where the left ones differ it goes left.
class Descent {
 public:
  Descent() = default;
  /// Precondition: the roots differ, count is at least 1.
  Descent(std::uint64_t count, std::array<Digest, kSides> roots)
      : count_(count), span_(count), hashes_(roots) {}

  /// The leaves below the present node: [first, first + span).
  std::uint64_t first() const { return first_; }
  std::uint64_t span() const { return span_; }
  std::uint64_t count() const { return count_; }
  /// Those of the left child.
  std::uint64_t left_span() const;
  bool is_at_leaf() const { return span_ == 1; }
  const Digest& hash(Side side) const { return hashes_[at(side)]; }

  /// That the two are what is below this side's node. Error: kDataLoss.
  core::Result<void> check(Side side, const Children& children) const;
  /// Precondition: both have been checked.
  void go_down(const std::array<Children, kSides>& children);
  /// That the leaf is this side's. Precondition: is_at_leaf(). Error: kDataLoss.
  core::Result<void> check(Side side, ByteView leaf) const;
  /// Precondition: the leaf has been checked.
  LeafProof proof(Side side, Bytes leaf) const;

 private:
  std::uint64_t count_ = 0, first_ = 0, span_ = 0;
  std::array<Digest, kSides> hashes_{};
  std::array<std::vector<Digest>, kSides> siblings_;  // from the root down
};

}  // namespace commensal::arbiter
