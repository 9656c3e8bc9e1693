// SPDX-License-Identifier: Apache-2.0
// Addresses and EIP-712 signatures as npm's ethers makes them (tests/peer/ethers_vectors.mjs). Both
// sides follow RFC 6979, so that equal digests show in equal signatures.
#include <gtest/gtest.h>

#include <commensal/base/protocol/beacon.hpp>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

namespace commensal::protocol {
namespace {

using nlohmann::json;

json load(const std::string& name) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/" + name + ".json");
  return json::parse(file);
}

Digest digest(const json& text) { return *core::digest_from_hex(text.get<std::string>()); }
crypto::Address address(const json& text) {
  return *crypto::address_from_text(text.get<std::string>());
}
Amount amount(const json& text) { return *amount_from_text(text.get<std::string>()); }

using Signer = std::function<crypto::Signature(const crypto::SecretKey& key, const json& value,
                                               std::uint64_t chain_id)>;

crypto::Signature sign_receipt(const crypto::SecretKey& key, const json& value,
                               std::uint64_t chain_id) {
  const auto encoded = load("protocol/receipt")[0]["bodies"][0].get<std::string>();
  const auto body = *decode<ReceiptBody>(*core::from_hex(encoded));
  EXPECT_EQ(value["count"], 1);
  return sign_batch(key, Role::kProvider, {&body, 1}, chain_id)[0].signature;
}

crypto::Signature sign_found(const crypto::SecretKey& key, const json& value,
                             std::uint64_t chain_id) {
  Verdict verdict;
  verdict.receipt_id = digest(value["receiptId"]);
  verdict.outcome = static_cast<Outcome>(value["outcome"]);
  verdict.expected_commitment = digest(value["expectedCommitment"]);
  verdict.recomputed_commitment = digest(value["recomputedCommitment"]);
  verdict.reason = value["reason"];
  return sign_verdict(key, verdict, chain_id).signature;
}

crypto::Signature sign_head(const crypto::SecretKey& key, const json& value,
                            std::uint64_t chain_id) {
  return sign_hash_chain_head(
             key, {{}, digest(value["anchor"]), value["rounds"], {}, value["first"]}, chain_id)
      .signature;
}

crypto::Signature sign_passed_on(const crypto::SecretKey& key, const json& value,
                                 std::uint64_t chain_id) {
  return sign_endorsement(
             key, {digest(value["ticket"]), value["index"], {}, address(value["to"]), {}}, chain_id)
      .signature;
}

crypto::Signature sign_settled(const crypto::SecretKey& key, const json& value,
                               std::uint64_t chain_id) {
  return sign_settlement(key,
                         {digest(value["ticket"]),
                          address(value["client"]),
                          address(value["holder"]),
                          amount(value["toHolder"]),
                          amount(value["toClient"]),
                          {},
                          {}},
                         chain_id);
}

TEST(MoneyEthers, SignsWhatWeSign) {
  const std::map<std::string, Signer> signers = {{"ReceiptBatch", sign_receipt},
                                                 {"Verdict", sign_found},
                                                 {"HashChainHead", sign_head},
                                                 {"Endorsement", sign_passed_on},
                                                 {"JointSettlement", sign_settled}};
  const json vectors = load("ethers");
  std::map<crypto::Address, Bytes> secrets;
  for (const json& key : vectors["keys"]) {
    const Bytes secret = *core::from_hex(key["secret"].get<std::string>());
    const auto found = crypto::SecretKey::from_bytes(secret)->address();
    EXPECT_EQ(crypto::to_text(found), key["address"]);
    secrets[found] = secret;
  }
  ASSERT_EQ(vectors["typed"].size(), 3 * signers.size());
  for (const json& typed : vectors["typed"]) {
    const auto signer = address(typed["signer"]);
    const auto key = crypto::SecretKey::from_bytes(secrets.at(signer));
    const std::uint64_t chain_id = typed["chain_id"];
    const auto made = signers.at(typed["type"])(*key, typed["value"], chain_id);
    EXPECT_EQ("0x" + core::to_hex(made.bytes), typed["signature"])
        << typed["type"] << " on chain " << chain_id;
    EXPECT_EQ(*crypto::recover(digest(typed["digest"]), made), signer);
  }
}

}  // namespace
}  // namespace commensal::protocol
