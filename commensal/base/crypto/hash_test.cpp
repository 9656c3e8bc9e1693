// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/crypto/keccak256.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <string>

namespace commensal::crypto {
namespace {

using core::as_bytes;
using core::to_hex;

// NIST example vectors for SHA-256 (FIPS 180-4 examples; CAVP SHA256LongMsg "million a").
TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(as_bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256(as_bytes(std::string(1'000'000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, FedInPiecesIsTheSameAndStartsAnewAfterFinish) {
  const std::string text(1000, 'x');
  for (std::size_t cut : {0, 1, 63, 64, 65, 999, 1000}) {
    Sha256 hash;
    hash.update(as_bytes("left over")).finish();
    hash.update(as_bytes(text).first(cut));
    Sha256 copy = hash;
    EXPECT_EQ(hash.update(as_bytes(text).subspan(cut)).finish(), sha256(as_bytes(text)));
    EXPECT_EQ(copy.update(as_bytes(text).subspan(cut)).finish(), sha256(as_bytes(text)));
  }
}

TEST(TaggedHash, IsTheHashOfLengthTagAndParts) {
  const Digest part = sha256(as_bytes("part"));
  std::string joined =
      "\x03"
      "tag" +
      std::string(core::as_text(part)) + "end";
  EXPECT_EQ(tagged_hash("tag", part, as_bytes("end")), sha256(as_bytes(joined)));
  EXPECT_NE(tagged_hash("ab", as_bytes("c")), tagged_hash("a", as_bytes("bc")));
}

// Keccak-256 of "", "abc" (Keccak team's known-answer tests with the original padding; the first
// is also the code hash of an empty account, Ethereum yellow paper) and of an ERC-20 event's text.
TEST(Keccak256, MatchesThePublishedVectors) {
  EXPECT_EQ(to_hex(keccak256({})),
            "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  EXPECT_EQ(to_hex(keccak256(as_bytes("abc"))),
            "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
  EXPECT_EQ(to_hex(keccak256(as_bytes("Transfer(address,address,uint256)"))),
            "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
}

}  // namespace
}  // namespace commensal::crypto
