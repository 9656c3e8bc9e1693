// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/crypto/chacha20.hpp>

namespace commensal::crypto {
namespace {

core::Bytes stream(const core::Digest& key, const std::array<std::uint32_t, 4>& start,
                   std::size_t size) {
  core::Bytes out(size);
  ChaCha20(key, start).fill(out);
  return out;
}

// RFC 8439, section 2.4.2: key 00..1f, counter 1, nonce 000000000000004a00000000; the keystream is
// what its plain text and cipher text differ by. And appendix A.1, vectors 1 and 2.
TEST(ChaCha20, RfcVectors) {
  core::Digest key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(core::to_hex(stream(key, {1, 0, 0x4a000000, 0}, 32)),
            "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf78");
  EXPECT_EQ(core::to_hex(stream({}, {0, 0, 0, 0}, 16)), "76b8e0ada0f13d90405d6ae55386bd28");
  EXPECT_EQ(core::to_hex(stream({}, {1, 0, 0, 0}, 16)), "9f07e7be5551387a98ba977c732d080d");
}

TEST(ChaCha20, PiecesMakeTheSameStreamAndTheCounterCarries) {
  const core::Digest key{7};
  const core::Bytes whole = stream(key, {0xfffffffe, 0, 3, 4}, 300);
  core::Bytes pieces;
  ChaCha20 cipher(key, {0xfffffffe, 0, 3, 4});
  for (const std::size_t size : {1, 62, 64, 130, 43}) {
    core::Bytes piece(size);
    cipher.fill(piece);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, whole);
  // Block 2^32 is that of counter (0, 1).
  EXPECT_EQ(core::Bytes(whole.begin() + 128, whole.begin() + 192), stream(key, {0, 1, 3, 4}, 64));
}

}  // namespace
}  // namespace commensal::crypto
