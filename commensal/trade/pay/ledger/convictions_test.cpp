// SPDX-License-Identifier: Apache-2.0
// What a wrong answer costs, whatever became of its ticket: conceded, and proved in a dispute.
#include <commensal/trade/pay/ledger/testing/cases_fixture.hpp>

namespace commensal::ledger {
namespace {

using ::testing::HasSubstr;
using testing::Person;
using testing::ScriptedArbiter;
using testing::Step;

enum class Way { kConceded, kProved };

class MoneyConvictions : public testing::CasesFixture, public ::testing::WithParamInterface<Way> {
 protected:
  /// An accusation that holds.
  void convict(const Step& made, const Person& accuser) {
    accept(accuser.key, accuse(made));
    if (GetParam() == Way::kProved) {
      accept(provider(), on<Contest>(made, accuser));
      Argue proof = argue(made, ScriptedArbiter::kProviderWrong);
      proof.accuser = accuser.address;
      accept(accuser.key, proof);
    } else {
      accept(provider(), on<Concede>(made, accuser));
    }
    EXPECT_EQ(row(made, accuser).status, CaseStatus::kConvicted);
    EXPECT_EQ(bond(accuser), 0u);
  }
  void convict(const Step& made) { convict(made, accuser_); }
  Step open() {
    const Step made = ticket(3);
    accept(provider(), Open{pair_.claim(made), {}});
    return made;
  }
  void open_and_match() { accept(auditor_.key, judge(open(), Outcome::kMatch, auditor_.key)); }
  int count_ = 0;
};

TEST_P(MoneyConvictions, AnIsolatedOneCostsHalfTheStakeAndAPatternAll) {
  accept(provider(), AnnounceWithdrawal{AccountKind::kStake, Amount(450)});
  open_and_match();
  open_and_match();  // a long record, here
  convict(open());
  EXPECT_EQ(balance(provider_address()), 200u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 794u);  // less two fees
  EXPECT_EQ(burnt(), 125u);
  EXPECT_EQ(balance(gateway_address()), 125u);
  EXPECT_EQ(balance(accuser_.address), 100u);
  convict(open());
  // All that was left, on its way out or not: 250, of which 125 burnt, 40 the accuser's bounty.
  EXPECT_EQ(balance(provider_address(), AccountKind::kStake), 0u);
  EXPECT_EQ(balance(provider_address(), AccountKind::kWithdrawing), 0u);
  EXPECT_EQ(burnt(), 250u);
  EXPECT_EQ(balance(accuser_.address), 140u);
  EXPECT_EQ(balance(auditor_.address), 6u);
  EXPECT_EQ(balance(gateway_address()), 125u + 85u);
}

TEST_P(MoneyConvictions, AreForgottenAfterEnoughRightAnswers) {
  for (const std::uint64_t left : {250u, 125u}) {
    open_and_match();
    open_and_match();
    convict(open());  // isolated, and again
    EXPECT_EQ(stake(), left);
  }
  open_and_match();
  convict(open());
  EXPECT_EQ(stake(), 0u);
}

// A key that was made for it has no record to lose.
TEST_P(MoneyConvictions, ANewKeysFirstWrongAnswerCostsAllOfItsStake) {
  convict(open());
  EXPECT_EQ(stake(), 0u);
}

// Later, a gateway that has forgotten the ticket has not forgotten that it was punished.
TEST_P(MoneyConvictions, WhoWasPaidIsFoundOutAllTheSameButOnce) {
  const Step made = open();
  now_ms_ += 500;
  accept(stranger_.key, Mature{ticket_of(made)});
  accept(gateway(), gateway_reveals(40));
  accept(gateway(), provider_reveals(40));
  const auto checkpoint = [&] {
    accept(operator_.key, Checkpoint{root_digest(ledger_.root())});
    ledger_.take_changes();
  };
  checkpoint();
  EXPECT_EQ(ledger_.state().claims.rows().size(), 0u);
  convict(made);
  EXPECT_EQ(balance(provider_address()), 100u);  // what it was paid
  EXPECT_EQ(stake(), 0u);
  checkpoint();
  EXPECT_THAT(refusal(accuser_.key, accuse(made)),
              HasSubstr("has accused this receipt: convicted"));
  EXPECT_THAT(refusal(friend_.key, accuse(made)), HasSubstr("is refused already"));
}

// The same where the ledger has not forgotten that it was paid.
TEST_P(MoneyConvictions, WhatWasPaidIsRefusedThen) {
  const Step made = open();
  accept(auditor_.key, judge(made, Outcome::kMatch, auditor_.key));
  convict(made);
  EXPECT_EQ(balance(provider_address()), 100u);
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(ledger_.state().claims.find(ticket_of(made))->status, ClaimStatus::kRefused);
}

TEST_P(MoneyConvictions, AWrongAnswerIsEvidenceWhateverBecameOfItsTicket) {
  const Step undrawn = ticket(9), lost = ticket(3, 100, false), won = ticket(3);
  for (const Step* const made : {&undrawn, &lost, &won}) {
    SCOPED_TRACE(made->receipt.round);
    Accuse of_another = accuse(*made);
    of_another.receipt.step = 2;
    EXPECT_THAT(refusal(accuser_.key, of_another), HasSubstr("do not open"));
    Accuse unsigned_by_it = accuse(*made);
    unsigned_by_it.receipt.provider = unsigned_by_it.receipt.client;
    EXPECT_THAT(refusal(accuser_.key, unsigned_by_it), HasSubstr("provider"));
    convict(*made);
    EXPECT_EQ(stake(), 0u);
    EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 1000u);
    EXPECT_THAT(refusal(friend_.key, accuse(*made)), HasSubstr("is refused already"));
    EXPECT_THAT(refusal(provider(), Open{pair_.claim(*made), {}}), HasSubstr("is refused already"));
    fund(provider(), {{AccountKind::kStake, 500}}, static_cast<std::uint8_t>(10 + count_++));
  }
}

TEST_P(MoneyConvictions, OneOfATicketEndsTheCasesOfOthersToo) {
  const Step open_one = open(), lost = ticket(3, 100, false);
  for (const Step* const made : {&open_one, &lost}) {
    accept(accuser_.key, accuse(*made));
    EXPECT_EQ(bond(accuser_), 21u);
    convict(*made, friend_);
    EXPECT_EQ(status(*made), CaseStatus::kConvicted);
    EXPECT_EQ(bond(accuser_), 0u);
    EXPECT_EQ(balance(accuser_.address), 100u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoneyConvictions, ::testing::Values(Way::kConceded, Way::kProved),
                         [](const auto& info) {
                           return info.param == Way::kConceded ? "Conceded" : "Proved";
                         });

}  // namespace
}  // namespace commensal::ledger
