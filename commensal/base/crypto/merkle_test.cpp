// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/leaf_hashes.hpp>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <string>
#include <string_view>

namespace commensal::crypto {
namespace {

using core::Bytes;

// The reference tree of Certificate Transparency (google/certificate-transparency, later
// transparency-dev/merkle, testonly/constants.go): leaf inputs, roots by size, inclusion proofs.
constexpr std::string_view kInputs[] = {"",
                                        "00",
                                        "10",
                                        "2021",
                                        "3031",
                                        "40414243",
                                        "5051525354555657",
                                        "606162636465666768696a6b6c6d6e6f"};
constexpr std::string_view kRoots[] = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

struct PublishedProof {
  std::uint64_t index, count;
  std::vector<std::string> path;
};
const PublishedProof kProofs[] = {
    {0, 1, {}},
    {0,
     8,
     {"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"}},
    {5,
     8,
     {"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}},
    {2, 3, {"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"}},
    {1,
     5,
     {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"}},
};

std::vector<Digest> published_leaves(std::size_t count) {
  std::vector<Digest> leaves;
  for (std::size_t i = 0; i < count; ++i) leaves.push_back(leaf_hash(*core::from_hex(kInputs[i])));
  return leaves;
}

std::vector<Digest> random_leaves(std::size_t count) {
  core::CounterRng rng(11, count);
  std::vector<Digest> leaves(count);
  for (Digest& leaf : leaves) leaf = rng.next_digest();
  return leaves;
}

/// The definition of RFC 6962, section 2.1, word for word.
Digest root_by_definition(std::span<const Digest> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const std::size_t split = std::bit_floor(leaves.size() - 1);
  return node_hash(root_by_definition(leaves.first(split)),
                   root_by_definition(leaves.subspan(split)));
}

TEST(Merkle, RootsMatchCertificateTransparency) {
  for (std::size_t count = 0; count <= 8; ++count) {
    EXPECT_EQ(core::to_hex(merkle_root(published_leaves(count))), kRoots[count]);
  }
}

TEST(Merkle, ProofsMatchCertificateTransparency) {
  for (const PublishedProof& published : kProofs) {
    const MerkleProof proof = merkle_prove(published_leaves(published.count), published.index);
    std::vector<std::string> path;
    for (const Digest& sibling : proof.path) path.push_back(core::to_hex(sibling));
    EXPECT_EQ(path, published.path);
  }
}

TEST(Merkle, EveryProofOfEverySizeHoldsAndOnlyInItsPlace) {
  for (std::size_t count = 1; count <= 33; ++count) {
    const std::vector<Digest> leaves = random_leaves(count);
    const MerkleTree tree(leaves);
    ASSERT_EQ(tree.root(), root_by_definition(leaves));
    ASSERT_EQ(tree.root(), merkle_root(leaves));
    for (std::uint64_t index = 0; index < count; ++index) {
      const MerkleProof proof = tree.prove(index);
      ASSERT_TRUE(merkle_verify(tree.root(), leaves[index], index, count, proof.path));
      for (std::uint64_t other = 0; other < count + 2; ++other) {
        if (other == index) continue;
        EXPECT_FALSE(merkle_verify(tree.root(), leaves[index], other, count, proof.path));
      }
    }
  }
}

TEST(Merkle, CorruptProofsAreRefusedByName) {
  const std::vector<Digest> leaves = random_leaves(7);
  const MerkleTree tree(leaves);
  const MerkleProof proof = tree.prove(4);
  const auto refusal = [&](std::uint64_t index, std::uint64_t count, std::vector<Digest> path) {
    const auto result = merkle_verify(tree.root(), leaves[4], index, count, path);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(refusal(7, 7, proof.path), "Merkle proof: index 7 of 7 leaves");
  EXPECT_EQ(refusal(0, 0, {}), "Merkle proof: index 0 of 0 leaves");
  EXPECT_NE(refusal(4, ~std::uint64_t{0}, proof.path).find("at most"), std::string::npos);
  std::vector<Digest> path = proof.path;
  path.push_back(tree.root());
  EXPECT_EQ(refusal(4, 7, path), "Merkle proof: path of 4 hashes, expected 3 for leaf 4 of 7");
  for (std::size_t i = 0; i < proof.path.size(); ++i) {
    path = proof.path;
    path[i][31] ^= 1;
    EXPECT_NE(refusal(4, 7, path).find("leads to root"), std::string::npos);
  }
}

TEST(Merkle, BytesAreCutIntoLeaves) {
  Bytes bytes(5000);
  core::CounterRng(3).fill(bytes);
  for (std::size_t size : {0, 1, 1023, 1024, 1025, 2048, 4097, 5000}) {
    std::vector<Digest> leaves;
    for (std::size_t at = 0; at < size; at += 1024) {
      leaves.push_back(
          leaf_hash(core::ByteView(bytes).subspan(at, std::min<std::size_t>(1024, size - at))));
    }
    EXPECT_EQ(merkle_root_of_bytes(core::ByteView(bytes).first(size)), merkle_root(leaves));
  }
}

// Whether several leaves are hashed at a time or not: the same hashes and roots.
TEST(LeafHashes, AreThoseOfOneLeafAfterAnother) {
  core::CounterRng rng(12);
  Bytes bytes(150 * kMerkleLeafBytes + 700);
  rng.fill(bytes);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1024}, std::size_t{1025},
        std::size_t{16 * 1024 - 1}, std::size_t{16 * 1024}, std::size_t{16 * 1024 + 1},
        std::size_t{64 * 1024}, std::size_t{129 * 1024 + 5}, bytes.size()}) {
    const ByteView part = ByteView(bytes).last(size);
    std::vector<Digest> expected;
    for (std::size_t at = 0; at < size; at += kMerkleLeafBytes) {
      expected.push_back(leaf_hash(part.subspan(at, std::min(kMerkleLeafBytes, size - at))));
    }
    std::vector<Digest> hashes(expected.size());
    leaf_hashes(part, hashes);
    EXPECT_EQ(hashes, expected) << size;
    EXPECT_EQ(merkle_root_of_bytes(part), merkle_root(expected)) << size;
  }
}

}  // namespace
}  // namespace commensal::crypto
