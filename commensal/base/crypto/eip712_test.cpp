// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/keccak256.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <string>

namespace commensal::crypto {
namespace {

using core::to_hex;

constexpr std::string_view kPerson = "Person(string name,address wallet)";

Digest person(std::string_view name, std::string_view wallet) {
  return StructHash(kPerson).text(name).address(*address_from_text(wallet)).finish();
}

// The "Ether Mail" example of EIP-712 (assets/eip-712/Example.js and Example.sol).
TEST(Eip712, MatchesTheMailExample) {
  const Eip712Domain domain{"Ether Mail", "1", 1,
                            *address_from_text("0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC")};
  EXPECT_EQ(to_hex(domain_separator(domain)),
            "f2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f");

  const Digest mail =
      StructHash("Mail(Person from,Person to,string contents)" + std::string(kPerson))
          .word(person("Cow", "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"))
          .word(person("Bob", "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"))
          .text("Hello, Bob!")
          .finish();
  EXPECT_EQ(to_hex(mail), "c52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e");

  const Digest digest = typed_digest(domain, mail);
  EXPECT_EQ(to_hex(digest), "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");

  const SecretKey cow = *SecretKey::from_bytes(keccak256(core::as_bytes("cow")));
  EXPECT_EQ(to_hex(sign(cow, digest).bytes),
            "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d"
            "07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562"
            "1c");
}

TEST(Eip712, DomainsDiffer) {
  const Eip712Domain ledger;
  Eip712Domain chain;
  chain.chain_id = 1;
  Eip712Domain contract = chain;
  contract.verifying_contract = Address{};
  EXPECT_NE(domain_separator(ledger), domain_separator(chain));
  EXPECT_NE(domain_separator(chain), domain_separator(contract));
}

TEST(Eip712, WordsAreBigEndianAndPadded) {
  core::Bytes expected(64, 0);
  const Digest type = keccak256(core::as_bytes("T(uint64 a)"));
  std::copy(type.begin(), type.end(), expected.begin());
  for (std::uint8_t i = 0; i < 8; ++i) expected[56 + i] = i + 1;
  EXPECT_EQ(StructHash("T(uint64 a)").uint(0x0102030405060708).finish(), keccak256(expected));
}

}  // namespace
}  // namespace commensal::crypto
