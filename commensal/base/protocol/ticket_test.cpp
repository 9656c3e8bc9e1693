// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/ticket.hpp>

namespace commensal::protocol {
namespace {

template <class Result>
std::string refusal(const Result& result) {
  return result ? "accepted" : result.error().message;
}

class MoneyNouns : public ::testing::Test {
 protected:
  core::CounterRng rng_{3};
  crypto::SecretKey keys_[3] = {crypto::SecretKey::generate(rng_),
                                crypto::SecretKey::generate(rng_),
                                crypto::SecretKey::generate(rng_)};
  Digest ticket_ = rng_.next_digest();
};

TEST_F(MoneyNouns, EndorsementsFormAChain) {
  std::vector<Endorsement> chain;
  for (std::uint64_t i = 0; i < 2; ++i) {
    chain.push_back(sign_endorsement(keys_[i], {ticket_, i, {}, keys_[i + 1].address(), {}}));
    EXPECT_EQ(decode<Endorsement>(encode(chain[i])), chain[i]);
  }
  const crypto::Address first = keys_[0].address();
  EXPECT_EQ(last_holder(ticket_, first, {}), first);
  EXPECT_EQ(last_holder(ticket_, first, chain), keys_[2].address());
  const auto refused = [&](const std::vector<Endorsement>& bent) {
    return refusal(last_holder(ticket_, first, bent));
  };
  EXPECT_EQ(refused({chain[1]}), "endorsement 0: its index is 1, expected 0");
  std::vector<Endorsement> bent = chain;
  bent[1].from = first;
  EXPECT_EQ(refused(bent).find("endorsement 1: it is from"), 0u);
  bent = chain;
  bent[1].to = first;
  EXPECT_EQ(refused(bent).find("endorsement 1: recovers to"), 0u);
  bent = chain;
  bent[0].ticket[0] ^= 1;
  EXPECT_EQ(refused(bent).find("endorsement 0: it is about ticket"), 0u);
  EXPECT_EQ(refusal(last_holder(ticket_, first, chain, 1)),
            "endorsement 0: wrong chain: it was signed for chain 0, expected chain 1");
  bent.assign(limits::kEndorsementsMax + 1, chain[0]);
  EXPECT_EQ(refused(bent), "65 endorsements, at most 64 are accepted");
}

TEST_F(MoneyNouns, SettlementsNeedBothSignatures) {
  JointSettlement settlement{
      ticket_, keys_[0].address(), keys_[1].address(), Amount(5), Amount(0), {}, {}};
  settlement.by_client = sign_settlement(keys_[0], settlement);
  EXPECT_EQ(refusal(verify_settlement(settlement)).find("joint settlement: holder: signature: "),
            0u);
  settlement.by_holder = sign_settlement(keys_[1], settlement);
  EXPECT_EQ(refusal(verify_settlement(settlement)), "accepted");
  EXPECT_EQ(decode<JointSettlement>(encode(settlement)), settlement);
  EXPECT_EQ(refusal(verify_settlement(settlement, 31337)),
            "joint settlement: client: wrong chain: it was signed for chain 0, expected chain "
            "31337");
  const Bytes bytes = encode(settlement);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes flipped = bytes;
    flipped[i] ^= 1;
    const auto decoded = decode<JointSettlement>(flipped);
    EXPECT_FALSE(decoded && verify_settlement(*decoded)) << i;
  }
}

TEST_F(MoneyNouns, TicketsAreNamedByStepAlone) {
  EXPECT_EQ(ticket_id({ticket_, 1, {1}, 5}), ticket_id({ticket_, 1, {2}, 6}));
  EXPECT_NE(ticket_id(ticket_, 1), ticket_id(ticket_, 2));
}

}  // namespace
}  // namespace commensal::protocol
