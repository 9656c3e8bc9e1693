// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/arbiter/descent.hpp>

namespace commensal::arbiter {

std::uint64_t Descent::left_span() const { return std::bit_floor(span_ - 1); }

core::Result<void> Descent::check(Side side, const Children& children) const {
  if (crypto::node_hash(children.left, children.right) == hash(side)) return {};
  return core::fail(core::ErrorCode::kDataLoss,
                    "the two hashes are not what lies below this side's node of leaves {} to {}",
                    first_, first_ + span_ - 1);
}

void Descent::go_down(const std::array<Children, kSides>& children) {
  const std::uint64_t left = left_span();
  const bool goes_left = children[0].left != children[1].left;
  for (std::size_t s = 0; s < kSides; ++s) {
    hashes_[s] = goes_left ? children[s].left : children[s].right;
    siblings_[s].push_back(goes_left ? children[s].right : children[s].left);
  }
  core::check(hashes_[0] != hashes_[1], "nodes that differ have children that do");
  if (!goes_left) first_ += left;
  span_ = goes_left ? left : span_ - left;
}

core::Result<void> Descent::check(Side side, ByteView leaf) const {
  if (crypto::leaf_hash(leaf) == hash(side)) return {};
  return core::fail(core::ErrorCode::kDataLoss, "these bytes are not this side's leaf {}", first_);
}

LeafProof Descent::proof(Side side, Bytes leaf) const {
  const auto& down = siblings_[at(side)];
  return {std::move(leaf), first_, count_, {down.rbegin(), down.rend()}};
}

}  // namespace commensal::arbiter
