// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>

namespace commensal::beacon {
namespace {

using core::Digest;

template <class Result>
std::string refusal(const Result& result) {
  return result ? "accepted" : result.error().message;
}

TEST(MoneyHashChain, GivesEveryRoundOfEveryDepth) {
  core::CounterRng rng(1);
  for (int depth = 1; depth <= 12; ++depth) {
    const Digest seed = rng.next_digest();
    HashChain chain = HashChain::make(seed, depth);
    const std::uint64_t rounds = std::uint64_t{1} << depth;
    EXPECT_EQ(chain.anchor(), hash_back(seed, rounds));
    std::vector<Digest> values(rounds + 1);
    values[rounds] = seed;
    for (std::uint64_t i = rounds; i > 0; --i) values[i - 1] = hash_back(values[i], 1);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      ASSERT_EQ(chain.reveal(round), values[round]) << depth << " " << round;
    }
    EXPECT_FALSE(chain.reveal(rounds + 1));
    EXPECT_EQ(chain.reveal(1), values[1]);
    EXPECT_EQ(refusal(chain.reveal(0)), "round 0, expected 1 or more");
  }
}

TEST(MoneyHashChain, GoesOnFromItsEncodingAtEveryRound) {
  const Digest seed = core::CounterRng(2).next_digest();
  HashChain straight = HashChain::make(seed, 7);
  HashChain stored = HashChain::make(seed, 7);
  for (std::uint64_t round = 1; round <= 128; ++round) {
    auto decoded = HashChain::decode(stored.encode());
    ASSERT_TRUE(decoded) << decoded.error().message;
    stored = *std::move(decoded);
    ASSERT_EQ(*stored.reveal(round), *straight.reveal(round));
  }
  EXPECT_TRUE(HashChain::decode(stored.encode()));
}

TEST(MoneyHashChain, BentEncodingsAreRefusedOrEndInAnError) {
  core::CounterRng rng(3);
  HashChain chain = HashChain::make(rng.next_digest(), 6);
  ASSERT_TRUE(chain.reveal(21));
  const core::Bytes good = chain.encode();
  for (int i = 0; i < 3000; ++i) {
    core::Bytes bent = good;
    bent[rng.next_u32() % bent.size()] = static_cast<std::uint8_t>(rng.next_u32());
    auto decoded = HashChain::decode(bent);
    if (decoded) (void)decoded->reveal(1 + rng.next_u32() % 64);
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(HashChain::decode(core::ByteView(good).first(size)));
  }
}

class MoneyBeacon : public ::testing::Test {
 protected:
  MoneyBeacon() {
    gateway_head_ = protocol::sign_hash_chain_head(gateway_key_,
                                                   {{}, gateway_.anchor(), gateway_.rounds(), {}});
    provider_head_ = protocol::sign_hash_chain_head(
        provider_key_, {{}, provider_.anchor(), provider_.rounds(), {}});
  }
  core::CounterRng rng_{4};
  crypto::SecretKey gateway_key_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_key_ = crypto::SecretKey::generate(rng_);
  HashChain gateway_ = HashChain::make(rng_.next_digest(), 8);
  HashChain provider_ = HashChain::make(rng_.next_digest(), 8);
  protocol::HashChainHead gateway_head_, provider_head_;
};

TEST_F(MoneyBeacon, HeadsAreTheirOwnersWord) {
  EXPECT_EQ(refusal(protocol::verify_hash_chain_head(gateway_head_)), "accepted");
  EXPECT_EQ(refusal(protocol::verify_hash_chain_head(gateway_head_, 1)),
            "hash chain head: wrong chain: it was signed for chain 0, expected chain 1");
  protocol::HashChainHead bent = gateway_head_;
  bent.owner = provider_head_.owner;
  EXPECT_NE(refusal(protocol::verify_hash_chain_head(bent)).find("hash chain head: recovers to"),
            std::string::npos);
  bent.rounds = 0;
  EXPECT_EQ(refusal(protocol::verify_hash_chain_head(bent)),
            "hash chain head: 0 rounds, expected 1 to 67108864");
  EXPECT_NE(protocol::beacon_id(gateway_head_, provider_head_),
            protocol::beacon_id(provider_head_, gateway_head_));
}

TEST_F(MoneyBeacon, IsDrawnByBothRevealsInTheirOrder) {
  TwoPartyBeacon beacon{HashChainTracker(gateway_head_), HashChainTracker(provider_head_)};
  EXPECT_EQ(beacon.open_round(), 1u);
  EXPECT_EQ(refusal(beacon.on_provider_reveal(1, *provider_.reveal(1))),
            "early: the provider reveals round 1, the gateway has revealed up to 0");
  ASSERT_TRUE(beacon.on_gateway_reveal(1, *gateway_.reveal(1)));
  EXPECT_EQ(beacon.open_round(), 2u);
  EXPECT_EQ(beacon.value(1)->has_value(), false);
  ASSERT_TRUE(beacon.on_provider_reveal(1, *provider_.reveal(1)));
  EXPECT_EQ(**beacon.value(1),
            protocol::beacon_value(1, *gateway_.reveal(1), *provider_.reveal(1)));
  // Rounds may be skipped; a later reveal stands for those before.
  ASSERT_TRUE(beacon.on_gateway_reveal(9, *gateway_.reveal(9)));
  ASSERT_TRUE(beacon.on_provider_reveal(7, *provider_.reveal(7)));
  EXPECT_EQ(beacon.closed_round(), 9u);
  EXPECT_EQ(beacon.drawn_round(), 7u);
  EXPECT_EQ(**beacon.value(5),
            protocol::beacon_value(5, *gateway_.reveal(5), *provider_.reveal(5)));
  EXPECT_FALSE(beacon.value(0));
}

TEST_F(MoneyBeacon, RevealsThatDoNotHashAreRefusedByName) {
  HashChainTracker tracker(gateway_head_);
  const std::string owner = crypto::to_text(gateway_head_.owner);
  const std::string refused = "the reveal of round 5 does not hash to the chain of " + owner;
  EXPECT_EQ(refusal(tracker.accept(5, *gateway_.reveal(4))), refused);
  EXPECT_EQ(refusal(tracker.accept(5, *provider_.reveal(5))), refused);
  EXPECT_EQ(tracker.round(), 0u);
  ASSERT_TRUE(tracker.accept(8, *gateway_.reveal(8)));
  EXPECT_EQ(refusal(tracker.check(5, *gateway_.reveal(6))), refused);
  EXPECT_TRUE(tracker.check(5, *gateway_.reveal(5)));
  EXPECT_TRUE(tracker.accept(5, *gateway_.reveal(5)));
  EXPECT_EQ(tracker.round(), 8u);  // an older reveal changes nothing
  EXPECT_EQ(refusal(tracker.check(0, {})), "round 0, expected 1 to 256 of the chain of " + owner);
  EXPECT_EQ(refusal(tracker.check(257, {})),
            "round 257, expected 1 to 256 of the chain of " + owner);
  EXPECT_EQ(refusal(tracker.value_of(9)),
            "round 9 is not revealed yet by " + owner + ", whose latest is 8");
}

TEST_F(MoneyBeacon, CheckingARevealIsBounded) {
  protocol::HashChainHead head = gateway_head_;
  head.rounds = std::uint64_t{1} << limits::kHashChainDepthMax;
  const HashChainTracker tracker(head);
  EXPECT_EQ(refusal(tracker.check(limits::kRevealGapMax + 1, {})),
            "round 1048577 is 1048577 rounds from round 0, at most 1048576 are accepted");
}

}  // namespace
}  // namespace commensal::beacon
