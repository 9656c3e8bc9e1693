// SPDX-License-Identifier: Apache-2.0
// Signed transactions of an implementation of its own (tests/vectors/ledger/generate.py): the same
// bytes, the same EIP-712 types and digests, the same signatures.
#include <gtest/gtest.h>

#include <commensal/trade/pay/ledger/transaction.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::ledger {
namespace {

using nlohmann::json;

core::Bytes hex(const json& text) { return *core::from_hex(text.get<std::string>()); }

TEST(MoneyVectors, Transactions) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/ledger/transactions.json");
  const json vectors = json::parse(file);
  ASSERT_EQ(vectors.size(), 27u);
  for (const json& vector : vectors) {
    const auto decoded = protocol::decode<Transaction>(hex(vector["encoding"]));
    ASSERT_TRUE(decoded) << vector["type"] << ": " << decoded.error().message;
    EXPECT_EQ(protocol::encode(*decoded), hex(vector["encoding"]));
    EXPECT_EQ(typed_name(*decoded), vector["type"]);
    EXPECT_EQ(core::to_hex(signing_digest(*decoded)), vector["digest"]);
    EXPECT_EQ(*Signatures().signer(signing_digest(*decoded), decoded->signatures[0]),
              decoded->sender);
    const auto key = *crypto::SecretKey::from_bytes(hex(vector["key"]));
    Transaction again = *decoded;
    again.signatures.clear();
    sign(key, again);
    EXPECT_EQ(again, *decoded);
  }
}

TEST(MoneyVectors, WhatDoesNotDecodeIsNamed) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/ledger/transactions.json");
  const core::Bytes good = hex(json::parse(file)[2]["encoding"]);
  const auto refusal = [](const core::Bytes& bytes) {
    const auto decoded = protocol::decode<Transaction>(bytes);
    return decoded ? "decoded" : decoded.error().message;
  };
  core::Bytes bad = good;
  bad.pop_back();
  EXPECT_EQ(refusal(bad), "transaction.signatures: truncated: 64 bytes left, expected 65");
  bad = good;
  bad.push_back(0);
  EXPECT_EQ(refusal(bad), "transaction: 1 bytes left over");
  bad = good;
  bad[58] = 32;
  EXPECT_EQ(refusal(bad), "transaction.body: kind 32, expected 0 (Genesis) to 31 (Summon)");
  bad = good;
  bad[0] = 33;
  EXPECT_EQ(refusal(bad), "transaction: this is an entry, expected a transaction");
}

}  // namespace
}  // namespace commensal::ledger
