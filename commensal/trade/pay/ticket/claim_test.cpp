// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/trade/pay/ticket/testing/pair.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::ticket {
namespace {

using namespace testing;
using protocol::Claim;

template <class Result>
std::string refusal(const Result& result) {
  return result ? "accepted" : result.error().message;
}

class MoneyClaim : public ::testing::Test {
 protected:
  MoneyClaim() {
    pair_.sign(steps_);
    good_ = pair_.claim(steps_[0]);
  }
  auto check(const Claim& claim) {
    return verify_claim(claim, beacon::HashChainTracker(pair_.gateway_head),
                        beacon::HashChainTracker(pair_.provider_head), terms_);
  }
  std::string refused(const Claim& claim) { return refusal(check(claim)); }

  Pair pair_{7};
  protocol::Job job_ = pair_.job(certain_threshold(), Amount(500));
  std::vector<Pair::Step> steps_ = {pair_.step(job_, 6), pair_.step(pair_.job({}, Amount(1)), 6)};
  Claim good_;
  ClaimTerms terms_{.closed_round = 9, .acknowledged_round = 8, .opening_rounds_max = 2};
};

TEST_F(MoneyClaim, IsCheckedByAnyone) {
  const auto checked = check(good_);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->ticket, protocol::ticket_id(good_.receipt.body()));
  EXPECT_EQ(checked->receipt, protocol::receipt_id(good_.receipt.body()));
  EXPECT_EQ(checked->draw,
            draw(protocol::beacon_value(6, good_.gateway_reveal, good_.provider_reveal),
                 good_.receipt.body()));
  EXPECT_EQ(protocol::decode<Claim>(protocol::encode(good_)), good_);
}

// Made by tests/vectors/protocol/generate.py.
TEST(MoneyVectors, AClaimIsDrawnFromItsChains) {
  const auto load = [](const std::string& name) {
    std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/protocol/" + name + ".json");
    return nlohmann::json::parse(file);
  };
  const auto hex = [](const nlohmann::json& text) {
    return *core::from_hex(text.get<std::string>());
  };
  const auto beacon = load("beacon"), vector = load("ticket")["claim"];
  const auto tracker = [&](const char* head) {
    return beacon::HashChainTracker(*protocol::decode<protocol::HashChainHead>(hex(beacon[head])));
  };
  const auto seed = *core::digest_from_hex(beacon["gateway_seed"].get<std::string>());
  auto chain = beacon::HashChain::make(seed, beacon["depth"]);
  for (const auto& round : beacon["rounds"]) {
    EXPECT_EQ(core::to_hex(*chain.reveal(round["round"])), round["gateway"]);
  }
  const auto checked =
      verify_claim(*protocol::decode<Claim>(hex(vector["encoding"])), tracker("gateway_head"),
                   tracker("provider_head"), {64, 33, 10});
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(core::to_hex(checked->draw), vector["draw"]);
  EXPECT_EQ(core::to_hex(checked->ticket), vector["ticket"]);
}

TEST_F(MoneyClaim, EarlyAndExpiredOnesAreRefused) {
  terms_.acknowledged_round = 9;
  EXPECT_EQ(refused(good_),
            "claim: expired: round 6 had to be opened within 2 rounds, the provider has "
            "acknowledged round 9");
  terms_ = {.closed_round = 5, .acknowledged_round = 5, .opening_rounds_max = 2};
  EXPECT_EQ(refused(good_), "claim: early: round 6, the last one closed is 5");
}

TEST_F(MoneyClaim, WhatDoesNotFitIsRefusedByName) {
  Claim bad = good_;
  bad.gateway_reveal = bad.provider_reveal;
  EXPECT_EQ(refused(bad), "claim: the reveal of round 6 does not hash to the chain of " +
                              crypto::to_text(pair_.gateway_head.owner));
  bad = good_;
  bad.provider_reveal = *pair_.provider_chain.reveal(5);
  EXPECT_EQ(refused(bad), "claim: the reveal of round 6 does not hash to the chain of " +
                              crypto::to_text(pair_.provider_head.owner));
  bad = good_;
  bad.output_salt[0] ^= 1;
  EXPECT_EQ(refused(bad), "claim: the output's root and salt do not open the receipt's commitment");
  bad = good_;
  bad.receipt.round = protocol::kNoDraw;
  EXPECT_EQ(refused(bad), "claim: the receipt takes part in no draw (its round is 0)");
  bad = good_;
  bad.receipt.job.beacons.clear();
  EXPECT_NE(refused(bad).find("claim: the job names no beacon, expected the beacon"),
            std::string::npos);
  bad = good_;
  std::swap(bad.receipt.job.client, bad.receipt.job.provider);
  EXPECT_NE(refused(bad).find("claim: chains of"), std::string::npos);
  EXPECT_NE(refused(pair_.claim(steps_[1])).find("claim: the ticket has lost"), std::string::npos);
}

TEST_F(MoneyClaim, SignaturesAreThoseOfTheJobOnThisChain) {
  Claim bad = good_;
  bad.receipt.client.signature.bytes[64] = 1;
  EXPECT_EQ(refused(bad).find("claim: receipt: client signature: signature: v is"), 0u);
  terms_.chain_id = 1;
  EXPECT_EQ(refused(good_),
            "claim: receipt: provider signature: wrong chain: it was signed for chain 0, expected "
            "chain 1");
  terms_.chain_id = protocol::kEmbeddedLedger;
  // The other root of the same equation: r, n - s and the other parity.
  bad = good_;
  auto& bytes = bad.receipt.provider.signature.bytes;
  const auto order =
      *core::digest_from_hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
  int borrow = 0;
  for (std::size_t i = 32; i-- > 0;) {
    const int difference = order[i] - bytes[32 + i] - borrow;
    borrow = difference < 0 ? 1 : 0;
    bytes[32 + i] = static_cast<std::uint8_t>(difference + 256 * borrow);
  }
  bytes[64] = bytes[64] == 27 ? 28 : 27;
  EXPECT_EQ(refused(bad),
            "claim: receipt: provider signature: signature: s is in the upper half of the group "
            "order (malleable)");
}

TEST_F(MoneyClaim, EveryFlippedByteIsRefused) {
  const auto bytes = protocol::encode(pair_.claim(steps_[0]));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    core::Bytes flipped = bytes;
    flipped[i] ^= 0x40;
    const auto decoded = protocol::decode<Claim>(flipped);
    EXPECT_FALSE(decoded && check(*decoded)) << i;
  }
}

TEST_F(MoneyClaim, SignaturesOfABatchAreRecoveredOnce) {
  protocol::KnownSignatures known;
  auto checked = [&](const protocol::Receipt& receipt) {
    return refusal(protocol::verify_receipt(receipt, protocol::kEmbeddedLedger, &known));
  };
  EXPECT_EQ(checked(steps_[0].receipt), "accepted");
  EXPECT_EQ(checked(steps_[1].receipt), "accepted");
  // What is known is known of this signature, root, count, role and signer only.
  protocol::Receipt bad = steps_[1].receipt;
  bad.provider.signature.bytes[5] ^= 1;
  EXPECT_NE(checked(bad), "accepted");
  bad = steps_[1].receipt;
  bad.commitment[0] ^= 1;
  EXPECT_NE(checked(bad), "accepted");
  bad = steps_[1].receipt;
  bad.job.provider = pair_.gateway_head.owner;
  EXPECT_NE(checked(bad), "accepted");
}

}  // namespace
}  // namespace commensal::ticket
