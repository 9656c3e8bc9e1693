// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <optional>

namespace commensal::crypto {
namespace {

SecretKey key_of(std::string_view hex) { return *SecretKey::from_bytes(*core::from_hex(hex)); }

std::string refusal(const Digest& digest, const Signature& signature) {
  const auto address = recover(digest, signature);
  return address ? "recovered " + to_text(*address) : address.error().message;
}

/// s -> n - s and the other parity: valid for plain ECDSA, hence the malleability.
Signature mirrored(const Signature& signature) {
  const Digest order =
      *core::digest_from_hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
  Signature twin = signature;
  int borrow = 0;
  for (std::size_t i = 32; i-- > 0;) {
    const int difference = order[i] - signature.bytes[32 + i] - borrow;
    borrow = difference < 0;
    twin.bytes[32 + i] = static_cast<std::uint8_t>(difference);
  }
  twin.bytes[64] ^= 27 ^ 28;
  return twin;
}

// Key and address pairs: key 1 is the generator point itself; the second is the example of the
// web3.js and eth-account documentation; the third is keccak256("cow") of EIP-712's own example.
TEST(Secp256k1, AddressesMatchKnownPairs) {
  EXPECT_EQ(to_text(key_of(std::string(63, '0') + "1").address()),
            "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
  EXPECT_EQ(
      to_text(key_of("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318").address()),
      "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23");
  EXPECT_EQ(
      to_text(key_of("c85ef7d79691fe79573b1a7064c19c1a9819ebdbd1faaab1a8ec92344438aaf4").address()),
      "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826");
}

TEST(Secp256k1, RecoversWhoSigned) {
  core::CounterRng rng(1);
  for (int i = 0; i < 20; ++i) {
    const SecretKey key = SecretKey::generate(rng);
    const Digest digest = rng.next_digest();
    const Signature signature = sign(key, digest);
    EXPECT_EQ(recover(digest, signature), key.address());
    EXPECT_EQ(signature, sign(key, digest));
    EXPECT_NE(recover(rng.next_digest(), signature), key.address());
  }
}

TEST(Secp256k1, RefusesMalformedSignaturesByName) {
  core::CounterRng rng(2);
  const SecretKey key = SecretKey::generate(rng);
  const Digest digest = rng.next_digest();
  const Signature good = sign(key, digest);
  EXPECT_EQ(refusal(digest, mirrored(good)),
            "signature: s is in the upper half of the group order (malleable)");
  EXPECT_EQ(recover(digest, mirrored(mirrored(good))), key.address());
  Signature bad = good;
  bad.bytes[64] = 0;
  EXPECT_EQ(refusal(digest, bad), "signature: v is 0, expected 27 or 28");
  bad.bytes[64] = 29;
  EXPECT_EQ(refusal(digest, bad), "signature: v is 29, expected 27 or 28");
  bad = good;
  std::fill_n(bad.bytes.begin(), 32, 0);
  EXPECT_EQ(refusal(digest, bad), "signature: r is zero");
  std::fill_n(bad.bytes.begin(), 32, 0xff);
  EXPECT_EQ(refusal(digest, bad), "signature: r is not below the group order");
  bad = good;
  std::fill_n(bad.bytes.begin() + 32, 32, 0);
  EXPECT_EQ(refusal(digest, bad), "signature: s is zero");
  bad = good;
  std::fill_n(bad.bytes.begin(), 32, 0);
  bad.bytes[31] = 5;  // 5^3 + 7 has no square root modulo the field prime
  EXPECT_EQ(refusal(digest, bad), "signature: no public key matches r");
}

TEST(SecretKey, RefusesWhatIsNoKey) {
  EXPECT_FALSE(SecretKey::from_bytes(core::Bytes(32, 0)));
  EXPECT_FALSE(SecretKey::from_bytes(core::Bytes(32, 0xff)));
  EXPECT_EQ(SecretKey::from_bytes(core::Bytes(31, 1)).error().message,
            "a secret key has 32 bytes, found 31");
}

TEST(SecretKey, LeavesNothingBehind) {
  core::CounterRng rng(3);
  std::optional<SecretKey> key = SecretKey::generate(rng);
  const core::ByteView view = key->bytes();
  const SecretKey moved = *std::move(key);
  const auto zero = [](std::uint8_t b) { return b == 0; };
  EXPECT_TRUE(std::all_of(view.begin(), view.end(), zero));
  EXPECT_FALSE(std::all_of(moved.bytes().begin(), moved.bytes().end(), zero));
}

// The examples of EIP-55.
TEST(Address, TextHasTheChecksumOfEip55) {
  for (std::string_view text :
       {"0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
        "0xde709f2102306220921060314715629080e2fb77", "0x27b1fdb04752bbc536007a920d24acb045561c26",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"}) {
    const auto address = address_from_text(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_text(*address), text);
  }
}

TEST(Address, RefusesBadText) {
  EXPECT_TRUE(address_from_text("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"));
  EXPECT_TRUE(address_from_text("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"));
  const auto wrong = address_from_text("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("checksum"), std::string::npos);
  EXPECT_FALSE(address_from_text("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"));
  EXPECT_FALSE(address_from_text("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae"));
  EXPECT_FALSE(address_from_text("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg"));
}

}  // namespace
}  // namespace commensal::crypto
