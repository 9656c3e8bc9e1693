// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/leaf_hashes.hpp>
#include <commensal/verify/arbiter/moves.hpp>
#include <commensal/verify/dispute/tree.hpp>

namespace commensal::dispute {

using core::Bytes;
using core::ByteView;

constexpr std::size_t kLeafBytes = crypto::kMerkleLeafBytes;

std::vector<core::Digest> leaf_hashes(core::ByteView bytes, kernels::ThreadPool& threads) {
  const std::size_t count = (bytes.size() + kLeafBytes - 1) / kLeafBytes;
  constexpr std::size_t kPiece = 64;  // leaves
  std::vector<core::Digest> hashes(count);
  const auto pieces = static_cast<std::int64_t>((count + kPiece - 1) / kPiece);
  threads.run(pieces, [&](std::int64_t piece) {
    const std::size_t first = static_cast<std::size_t>(piece) * kPiece;
    const std::size_t leaves = std::min(kPiece, count - first), begin = first * kLeafBytes;
    crypto::leaf_hashes(bytes.subspan(begin, std::min(leaves * kLeafBytes, bytes.size() - begin)),
                        std::span(hashes).subspan(first, leaves));
  });
  return hashes;
}

Tree::Tree(std::vector<Bytes> leaves) : leaves_(std::move(leaves)) {
  for (const Bytes& leaf : leaves_) hashes_.push_back(crypto::leaf_hash(leaf));
}

Tree::Tree(Bytes bytes, kernels::ThreadPool& threads)
    : bytes_(std::move(bytes)), hashes_(leaf_hashes(bytes_, threads)) {}

core::Digest Tree::root() const { return crypto::merkle_root(hashes_); }

ByteView Tree::leaf(std::uint64_t index) const {
  if (!leaves_.empty()) return leaves_[index];
  const std::size_t begin = index * kLeafBytes;
  return ByteView(bytes_).subspan(begin, std::min(kLeafBytes, bytes_.size() - begin));
}

arbiter::LeafProof Tree::prove(std::uint64_t index) const {
  const ByteView shown = leaf(index);
  auto proof = crypto::merkle_prove(hashes_, index);
  return {{shown.begin(), shown.end()}, proof.index, proof.count, std::move(proof.path)};
}

Bytes Tree::show(const arbiter::Descent& descent) const {
  if (descent.is_at_leaf()) {
    const ByteView shown = leaf(descent.first());
    return {shown.begin(), shown.end()};
  }
  const auto below = std::span(hashes_).subspan(descent.first(), descent.span());
  const std::uint64_t left = descent.left_span();
  return encode_body(arbiter::Children{crypto::merkle_root(below.first(left)),
                                       crypto::merkle_root(below.subspan(left))});
}

}  // namespace commensal::dispute
