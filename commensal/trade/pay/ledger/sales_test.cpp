// SPDX-License-Identifier: Apache-2.0
// Claims that are sold: who may, at what price, and who bears what becomes of them.
#include <commensal/trade/pay/ledger/testing/cases_fixture.hpp>

namespace commensal::ledger {
namespace {

using testing::Person;
using testing::Step;

class MoneySales : public testing::CasesFixture {
 protected:
  MoneySales() {
    accept(operator_.key, Deposit{buyer_.address, Amount(200), Digest{90}});
    made_ = ticket(3);
    accept(provider(), Open{pair_.claim(made_), {}});
  }
  Digest id() const { return ticket_of(made_); }
  Sell sell(std::uint64_t price) const { return {id(), Amount(price)}; }
  Buy buy(std::uint64_t price) const { return {id(), Amount(price)}; }
  const ClaimRow& claim() const { return *ledger_.state().claims.find(id()); }
  std::size_t for_sale() const { return ledger_.state().asked.rows().size(); }
  void sell_to_buyer() {
    accept(provider(), sell(90));
    accept(buyer_.key, buy(90));
  }
  void convict() {
    accept(accuser_.key, accuse(made_));
    accept(provider(), on<Concede>(made_));
  }

  const Person buyer_{30};
  Step made_;
};

TEST_F(MoneySales, AClaimIsSoldAtThePriceAskedAndItsBuyerIsPaid) {
  accept(provider(), sell(90));
  EXPECT_EQ(for_sale(), 1u);
  accept(buyer_.key, buy(90));
  EXPECT_EQ(balance(provider_address()), 90u);
  EXPECT_EQ(balance(buyer_.address), 110u);
  EXPECT_EQ(claim().holder, buyer_.address);
  EXPECT_EQ(claim().provider, provider_address());
  EXPECT_EQ(for_sale(), 0u);
  accept(auditor_.key, judge(made_, Outcome::kMatch, auditor_.key));
  EXPECT_EQ(balance(buyer_.address), 210u);
  EXPECT_EQ(balance(provider_address()), 90u);
}

TEST_F(MoneySales, WhatIsSoldAndFoundWrongIsPaidToNobodyAndTheStakeAnswers) {
  sell_to_buyer();
  convict();
  EXPECT_EQ(claim().status, ClaimStatus::kRefused);
  EXPECT_EQ(balance(buyer_.address), 110u);
  EXPECT_EQ(balance(provider_address()), 90u) << "nobody refunds the buyer";
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kClaims), 0u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 1000u);
  EXPECT_THAT(refusal(auditor_.key, judge(made_, Outcome::kMatch, auditor_.key)),
              HasSubstr("is refused already"));
}

TEST_F(MoneySales, WhatNobodyJudgesIsPaidToItsBuyer) {
  sell_to_buyer();
  now_ms_ += 500;
  accept(stranger_.key, Mature{id()});
  EXPECT_EQ(balance(buyer_.address), 210u);
}

TEST_F(MoneySales, OnlyItsHolderSellsAndNotBeyondItsFaceValue) {
  EXPECT_THAT(refusal(buyer_.key, sell(90)), HasSubstr("expected the holder"));
  EXPECT_THAT(refusal(provider(), sell(101)), HasSubstr("at most the face value 100"));
  EXPECT_THAT(refusal(provider(), Sell{ticket_of(ticket(3)), Amount(1)}), HasSubstr("is not open"));
  accept(provider(), sell(100));
  accept(provider(), sell(0));
  EXPECT_EQ(for_sale(), 0u);
  accept(provider(), sell(0));
  sell_to_buyer();
  EXPECT_THAT(refusal(provider(), sell(90)), HasSubstr("expected the holder"));
}

TEST_F(MoneySales, WhatIsNotAskedIsNotBought) {
  EXPECT_THAT(refusal(buyer_.key, buy(90)), HasSubstr("is not for sale"));
  EXPECT_THAT(refusal(buyer_.key, buy(0)), HasSubstr("is not for sale"));
  accept(provider(), sell(90));
  for (const std::uint64_t price : {0, 89, 91}) {
    EXPECT_THAT(refusal(buyer_.key, buy(price)), HasSubstr("expected the 90 that are asked"));
  }
  EXPECT_THAT(refusal(friend_.key, Buy{Digest{5}, Amount(90)}), HasSubstr("is not open"));
  accept(friend_.key, buy(90));
  EXPECT_THAT(refusal(buyer_.key, buy(90)), HasSubstr("is not for sale"));
  accept(friend_.key, sell(100));
  EXPECT_THAT(refusal(accuser_.key, Buy{id(), Amount(90)}), HasSubstr("expected the 100"));
  accept(accuser_.key, buy(100));
  EXPECT_EQ(claim().holder, accuser_.address);
  EXPECT_EQ(claim().endorsements, 2u);
}

TEST_F(MoneySales, WhoHoldsItOwesItOrJudgesDoesNotBuy) {
  accept(provider(), sell(90));
  accept(operator_.key, Deposit{gateway_address(), Amount(90), Digest{92}});
  accept(operator_.key, Deposit{auditor_.address, Amount(90), Digest{93}});
  EXPECT_THAT(refusal(provider(), buy(90)), HasSubstr("holds the claim already"));
  EXPECT_THAT(refusal(gateway(), buy(90)), HasSubstr("is the gateway that owes the claim"));
  EXPECT_THAT(refusal(auditor_.key, buy(90)), HasSubstr("who judges is not paid by the ticket"));
  EXPECT_THAT(refusal(stranger_.key, buy(90)), HasSubstr("overdraft: available"));
  // Who is admitted only once it holds the claim does not judge it.
  accept(buyer_.key, buy(90));
  accept(operator_.key, AdmitAuditor{buyer_.address, 1});
  EXPECT_THAT(refusal(buyer_.key, judge(made_, Outcome::kMatch, buyer_.key)),
              HasSubstr("is paid by the ticket"));
}

TEST_F(MoneySales, WhatIsAccusedIsNotBoughtUntilItIsAcquitted) {
  accept(provider(), sell(90));
  accept(accuser_.key, accuse(made_));
  EXPECT_THAT(refusal(buyer_.key, buy(90)), HasSubstr("is accused in 1 cases"));
  accept(provider(), on<Contest>(made_));
  now_ms_ += 400;
  accept(stranger_.key, on<Expire>(made_));
  ASSERT_EQ(status(made_), CaseStatus::kAcquitted);
  accept(buyer_.key, buy(90));
}

// However it ends, nothing is left for sale.
TEST_F(MoneySales, AnOfferEndsWithItsClaim) {
  accept(provider(), sell(90));
  accept(auditor_.key, judge(made_, Outcome::kMatch, auditor_.key));
  EXPECT_EQ(for_sale(), 0u);
  EXPECT_THAT(refusal(buyer_.key, buy(90)), HasSubstr("is paid already"));
  EXPECT_THAT(refusal(provider(), sell(90)), HasSubstr("is paid already"));
  const auto open = [&] {
    made_ = ticket(3);
    accept(provider(), Open{pair_.claim(made_), {}});
    accept(provider(), sell(90));
    ASSERT_EQ(for_sale(), 1u);
  };
  open();
  now_ms_ += 500;
  accept(stranger_.key, Mature{id()});
  EXPECT_EQ(for_sale(), 0u);
  open();
  protocol::JointSettlement both{id(), gateway_address(), provider_address(), Amount(5), {}, {},
                                 {}};
  both.by_client = protocol::sign_settlement(gateway(), both);
  both.by_holder = protocol::sign_settlement(provider(), both);
  accept(gateway(), Settle{made_.receipt, {}, both});
  EXPECT_EQ(for_sale(), 0u);
  open();
  convict();
  EXPECT_EQ(for_sale(), 0u);
}

// An endorsement counts once: not again when its signer has sold the claim and bought it back.
TEST_F(MoneySales, PassingItOnEndsAnOfferAndASaleEndsOldEndorsements) {
  const auto link = [&](std::uint64_t index) {
    return Endorse{protocol::sign_endorsement(provider(), {id(), index, {}, friend_.address, {}})};
  };
  const Endorse old = link(0);
  sell_to_buyer();
  accept(buyer_.key, sell(80));
  accept(provider(), buy(80));
  EXPECT_EQ(claim().holder, provider_address());
  EXPECT_THAT(refusal(stranger_.key, old), HasSubstr("expected index 2 from the holder"));
  accept(provider(), sell(90));
  accept(stranger_.key, link(2));
  EXPECT_EQ(for_sale(), 0u);
  EXPECT_EQ(claim().holder, friend_.address);
  EXPECT_THAT(refusal(buyer_.key, buy(90)), HasSubstr("is not for sale"));
}

}  // namespace
}  // namespace commensal::ledger
