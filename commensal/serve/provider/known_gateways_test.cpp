// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/provider/known_gateways.hpp>

namespace commensal::provider {
namespace {

class KnownGatewaysTest : public ::testing::Test {
 protected:
  rpc::Challenge challenge(const crypto::SecretKey& key, const rpc::Channel& channel) {
    rpc::Challenge made;
    made.nonce = rng_.next_digest();
    made.gateway = key.address();
    made.signature = crypto::sign(key, rpc::challenge_digest(made.nonce, key.address(), channel));
    return made;
  }
  core::Result<void> meet(const std::string& dialled, const crypto::SecretKey& key,
                          std::optional<crypto::Address> expected = {}) {
    return KnownGateways(store_, dialled, expected).meet(challenge(key, channel_), channel_);
  }

  core::SystemRng rng_;
  store::MemoryStore store_;
  const rpc::Channel channel_{{1}, {2}};
  const crypto::SecretKey ours_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey other_ = crypto::SecretKey::generate(rng_);
};

TEST_F(KnownGatewaysTest, RemembersTheFirstKeyOfAnAddress) {
  EXPECT_TRUE(meet("a:1", ours_));
  EXPECT_TRUE(meet("a:1", ours_));
  const auto changed = meet("a:1", other_);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().message,
            fmt::format("the gateway has the key {}, expected {}: --gateway-key if that is right",
                        crypto::to_text(other_.address()), crypto::to_text(ours_.address())));
  EXPECT_TRUE(meet("b:1", other_));
}

TEST_F(KnownGatewaysTest, SaysWhatItTakesOnTrust) {
  KnownGateways first(store_, "a:1", {}), again(store_, "a:1", {});
  EXPECT_FALSE(first.trusted_anew());
  EXPECT_TRUE(first.meet(challenge(ours_, channel_), channel_));
  EXPECT_EQ(first.trusted_anew(), ours_.address());
  EXPECT_TRUE(again.meet(challenge(ours_, channel_), channel_));
  EXPECT_FALSE(again.trusted_anew());
  KnownGateways expecting(store_, "b:1", ours_.address());
  EXPECT_TRUE(expecting.meet(challenge(ours_, channel_), channel_));
  EXPECT_FALSE(expecting.trusted_anew());
}

TEST_F(KnownGatewaysTest, AnExpectedKeyIsRequiredAndRemembered) {
  EXPECT_FALSE(meet("a:1", other_, ours_.address()));
  EXPECT_TRUE(meet("a:1", ours_, ours_.address()));
  EXPECT_FALSE(meet("a:1", other_));
  EXPECT_TRUE(meet("a:1", other_, other_.address()));
  EXPECT_TRUE(meet("a:1", other_));
}

TEST_F(KnownGatewaysTest, RefusesAChallengeThatIsPassedOn) {
  // Somebody between us and the gateway shows a certificate of his own.
  KnownGateways known(store_, "a:1", ours_.address());
  const rpc::Challenge relayed = challenge(ours_, {{3}, {4}});
  EXPECT_EQ(known.meet(relayed, channel_).error().code, core::ErrorCode::kUnauthenticated);
  rpc::Challenge posing = challenge(other_, channel_);
  posing.gateway = ours_.address();
  EXPECT_EQ(known.meet(posing, channel_).error().code, core::ErrorCode::kUnauthenticated);
  EXPECT_TRUE(meet("a:1", other_, other_.address())) << "what was refused is not remembered";
}

}  // namespace
}  // namespace commensal::provider
