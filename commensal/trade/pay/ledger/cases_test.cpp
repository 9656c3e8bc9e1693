// SPDX-License-Identifier: Apache-2.0
// Accusations, and disputes move by move.
#include <commensal/base/core/limits.hpp>
#include <commensal/trade/pay/ledger/testing/cases_fixture.hpp>

namespace commensal::ledger {
namespace {

using protocol::Outcome;
using ::testing::HasSubstr;
using testing::ScriptedArbiter;
using testing::Step;

constexpr std::uint8_t kGoOn = ScriptedArbiter::kGoOn;

class MoneyCases : public testing::CasesFixture {};

TEST_F(MoneyCases, AnAccusationLocksABondAndNamesWhatWasSigned) {
  const Step made = ticket(3);
  accept(accuser_.key, accuse(made));
  EXPECT_EQ(status(made), CaseStatus::kAccused);
  EXPECT_EQ(bond(accuser_), 21u);
  EXPECT_EQ(balance(accuser_.address), 79u);
  EXPECT_EQ(row(made, accuser_).contest_ms, 210u);
  EXPECT_EQ(ledger_.state().accused.get(provider_address()), 1u);
  EXPECT_THAT(refusal(accuser_.key, accuse(made)), HasSubstr("has accused this receipt: accused"));
}

TEST_F(MoneyCases, RefusesAccusationsThatDoNotHold) {
  const Step made = ticket(3);
  const auto refused = [&](auto&& bend) {
    Accuse body = accuse(made);
    bend(body);
    return refusal(accuser_.key, body);
  };
  EXPECT_THAT(refused([](Accuse& body) { body.output_root[0] ^= 1; }), HasSubstr("do not open"));
  EXPECT_THAT(refused([](Accuse& body) { body.output_salt[0] ^= 1; }), HasSubstr("do not open"));
  EXPECT_THAT(refused([](Accuse& body) { body.receipt.job.face_value = Amount(9); }),
              HasSubstr("do not open"));
  EXPECT_THAT(refused([](Accuse& body) { body.receipt.provider = body.receipt.client; }),
              HasSubstr("receipt: provider"));
  EXPECT_THAT(refused([](Accuse& body) { body.receipt.client = body.receipt.provider; }),
              HasSubstr("receipt: client"));
  EXPECT_THAT(refused([](Accuse& body) { body.input_root[0] = ScriptedArbiter::kMalformed; }),
              HasSubstr("the inputs do not open c_0"));
  EXPECT_THAT(refusal(provider(), accuse(made)), HasSubstr("it is the accused itself"));
  EXPECT_THAT(refusal(stranger_.key, accuse(made)), HasSubstr("overdraft: available"));
  Step abroad = made;
  pair_.sign({&abroad, 1}, 1);
  EXPECT_THAT(refusal(accuser_.key, accuse(abroad)), HasSubstr("receipt: "));
  accept(friend_.key, accuse(made));
  accept(provider(), on<Concede>(made, friend_));
  EXPECT_THAT(refusal(accuser_.key, accuse(made)), HasSubstr("is refused already"));
}

// The fault: who erred, paid and staked again could be accused of what it had answered years ago.
TEST_F(MoneyCases, WhoseJobIsNoLongerValidAnswersForNothing) {
  protocol::Job job = pair_.job(ticket::certain_threshold(), Amount(100));
  job.valid_until_ms = 500;
  Step made = pair_.step(job, 3);
  pair_.sign({&made, 1});
  now_ms_ = 501;
  EXPECT_THAT(refusal(accuser_.key, accuse(made)), HasSubstr("valid until 500, and it is 501"));
  now_ms_ = 500;
  accept(accuser_.key, accuse(made));
}

TEST_F(MoneyCases, AStepBeyondTheJobsIsNoReceipt) {
  Step made = ticket(3);
  made.receipt.step = 2;
  made.receipt.commitment = protocol::commit_step(protocol::job_id(made.receipt.job), 2,
                                                  made.output_root, made.output_salt);
  pair_.sign({&made, 1});
  EXPECT_THAT(refusal(accuser_.key, accuse(made)), HasSubstr("receipt: step 2, expected 1 to 1"));
}

TEST_F(MoneyCases, WhatNeitherDisputeNorAuditorCouldDecideIsNoCase) {
  protocol::Job job = pair_.job(ticket::certain_threshold(), Amount(100));
  job.auditors = protocol::AuditorClass::kNobody;
  Step made = pair_.step(job, 3);
  pair_.sign({&made, 1});
  EXPECT_THAT(refusal(accuser_.key, accuse(made, ScriptedArbiter::kNotPlayed)),
              HasSubstr("without a program, and the job admits no auditor"));
  accept(accuser_.key, accuse(made));
  accept(provider(), on<Contest>(made));
  accept(provider(), argue(made, ScriptedArbiter::kUndecided));
  now_ms_ += 1000;
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)), HasSubstr("0 auditors were on the list"));
  EXPECT_THAT(refusal(auditors_[0].key, report(made, other_root_)),
              HasSubstr("the job admits nobody"));
}

TEST_F(MoneyCases, WithoutAnArbiterNobodyIsAccused) {
  const Step made = contested();
  Ledger without(signatures_, with_sum(ledger_.state()));
  const auto refused = [&](const crypto::SecretKey& sender, Body body) {
    Transaction sent = testing::unsigned_transaction(operator_.address, without.state(),
                                                     sender.address(), std::move(body));
    sign(sender, sent);
    const auto entry = without.apply(sent, now_ms_ + 1000);
    return entry ? "accepted" : entry.error().message;
  };
  constexpr auto kLine = "this ledger has no arbiter";
  EXPECT_THAT(refused(friend_.key, accuse(made)), HasSubstr(kLine));
  EXPECT_THAT(refused(accuser_.key, argue(made, kGoOn)), HasSubstr(kLine));
  EXPECT_THAT(refused(accuser_.key, on<Expire>(made)), HasSubstr(kLine));
}

TEST_F(MoneyCases, WhoConcedesIsConvictedAtOnceAndTheAccuserPaid) {
  const Step made = ticket(3);
  accept(provider(), Open{pair_.claim(made), {}});
  accept(accuser_.key, accuse(made));
  EXPECT_THAT(refusal(accuser_.key, on<Concede>(made)), HasSubstr("expected the accused"));
  accept(provider(), on<Concede>(made));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
  // All of the stake: half burnt, 40 the accuser's bounty, the rest the gateway's. The claim's
  // reserve is back.
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(burnt(), 250u);
  EXPECT_EQ(balance(accuser_.address), 140u);
  EXPECT_EQ(bond(accuser_), 0u);
  EXPECT_EQ(balance(gateway_address()), 210u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 1000u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kClaims), 0u);
  EXPECT_EQ(ledger_.state().claims.find(ticket_of(made))->status, ClaimStatus::kRefused);
  EXPECT_THAT(refusal(provider(), on<Concede>(made)), HasSubstr("it is over: convicted"));
  EXPECT_THAT(refusal(provider(), Open{pair_.claim(made), {}}), HasSubstr("is refused already"));
  EXPECT_THAT(refusal(friend_.key, accuse(made)), HasSubstr("is refused already"));
}

TEST_F(MoneyCases, AReceiptWithoutADrawIsEvidenceOnce) {
  const Step made = ticket(protocol::kNoDraw);
  accept(accuser_.key, accuse(made));
  accept(friend_.key, accuse(made));
  accept(provider(), on<Concede>(made));
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(row(made, friend_).status, CaseStatus::kConvicted);
  EXPECT_THAT(refusal(stranger_.key, accuse(made)), HasSubstr("is refused already"));
}

TEST_F(MoneyCases, BothArgueUntilTheProviderIsProvedWrong) {
  const Step made = ticket(3);
  accept(accuser_.key, accuse(made));
  EXPECT_THAT(refusal(accuser_.key, argue(made, kGoOn)), HasSubstr("it is accused, moves are for"));
  now_ms_ += 1000;  // late, and nobody has said so
  accept(provider(), on<Contest>(made));
  EXPECT_THAT(refusal(provider(), on<Contest>(made)), HasSubstr("contested already"));
  EXPECT_THAT(refusal(stranger_.key, argue(made, kGoOn)), HasSubstr("the accuser or the accused"));
  accept(accuser_.key, argue(made, kGoOn));
  EXPECT_THAT(refusal(accuser_.key, argue(made, kGoOn)), HasSubstr("move: out of turn"));
  EXPECT_THAT(refusal(provider(), argue(made, 0)), HasSubstr("its proof does not hold"));
  accept(provider(), argue(made, kGoOn));
  EXPECT_EQ(ledger_.state().moves.rows().size(), 2u);
  accept(provider(), argue(made, ScriptedArbiter::kProviderWrong));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
  EXPECT_EQ(ledger_.state().moves.rows().size(), 0u);
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(balance(accuser_.address), 140u);
}

TEST_F(MoneyCases, AFalseAccusationCostsTheBondAndTheTicketGoesOn) {
  const Step made = ticket(3);
  accept(provider(), Open{pair_.claim(made), {}});
  accept(accuser_.key, accuse(made));
  accept(provider(), on<Contest>(made));
  accept(accuser_.key, argue(made, ScriptedArbiter::kAccuserWrong));
  EXPECT_EQ(status(made), CaseStatus::kAcquitted);
  EXPECT_EQ(balance(accuser_.address), 79u);
  EXPECT_EQ(bond(accuser_), 0u);
  EXPECT_EQ(burnt(), 11u);
  EXPECT_EQ(balance(provider_address()), 10u);
  EXPECT_EQ(stake(), 500u);
  EXPECT_THAT(refusal(accuser_.key, accuse(made)),
              HasSubstr("has accused this receipt: acquitted"));
  accept(auditor_.key, judge(made, Outcome::kMatch, auditor_.key));
  EXPECT_EQ(balance(provider_address()), 110u);
}

TEST_F(MoneyCases, WhereBothAreWrongBothPayAndNobodyGetsABounty) {
  const Step made = contested();
  accept(accuser_.key, argue(made, ScriptedArbiter::kBothWrong));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(balance(accuser_.address), 79u);
  EXPECT_EQ(burnt(), 250u + 21u);
  EXPECT_EQ(balance(gateway_address()), 250u);
}

TEST_F(MoneyCases, AnAccuserThatFallsSilentHasLost) {
  const Step made = contested();
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(made)), HasSubstr("a move has time until 60 ms"));
  accept(provider(), argue(made, kGoOn));
  now_ms_ += 50;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kAcquitted);
  EXPECT_EQ(stake(), 500u);
  EXPECT_EQ(balance(provider_address()), 10u);
}

TEST_F(MoneyCases, WhereBothAreSilentTheAccuserHasLost) {
  const Step made = contested();
  now_ms_ += 50;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kAcquitted);
}

TEST_F(MoneyCases, SilenceOfTheAccusedOnlyFreezesItsStake) {
  const Step made = contested();
  accept(accuser_.key, argue(made, kGoOn));
  now_ms_ += 50;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
  EXPECT_EQ(ledger_.state().moves.rows().size(), 0u);
  EXPECT_EQ(stake(), 500u);
  EXPECT_EQ(bond(accuser_), 21u);
  EXPECT_THAT(refusal(provider(), on<Contest>(made)), HasSubstr("auditors decide it"));
  EXPECT_THAT(refusal(provider(), argue(made, kGoOn)), HasSubstr("it is undecided, moves are for"));
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(made)), HasSubstr("nobody owes anything"));
}

/// Of a build whose programs are others.
class LaterArbiter final : public Arbiter {
 public:
  core::Result<void> check(const Dispute&, core::ByteView) const override { return {}; }
  core::Result<Standing> stand(const Dispute&, std::span<const Said>) const override {
    return core::fail(core::ErrorCode::kUnsupported, "move 0: version 1 of the programs");
  }
};

// Such a case could end in no way at all, and kept the stake for ever.
TEST_F(MoneyCases, MovesThatTheArbiterNoLongerReadsLeaveTheCaseToAuditors) {
  const Step made = contested();
  accept(provider(), argue(made, kGoOn));
  const LaterArbiter arbiter;
  Ledger later(signatures_, with_sum(ledger_.state()), &arbiter);
  Transaction sent = testing::unsigned_transaction(operator_.address, later.state(),
                                                   stranger_.address, on<Expire>(made));
  sign(stranger_.key, sent);
  const auto entry = later.apply(sent, now_ms_ + 50);
  ASSERT_TRUE(entry) << entry.error().message;
  const CaseKey key = later.state().cases.rows().begin()->first;
  EXPECT_EQ(later.state().cases.find(key)->status, CaseStatus::kUndecided);
}

TEST_F(MoneyCases, SilenceBeforeAContestIsHeldAgainstNobody) {
  const Step made = ticket(3);
  accept(accuser_.key, accuse(made));
  now_ms_ += 10'000;
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(made)), HasSubstr("nobody owes anything"));
}

TEST_F(MoneyCases, NoDisputeIsForEver) {
  const Step made = contested();
  for (int i = 0; i < 8; ++i) {
    accept(accuser_.key, argue(made, kGoOn));
    accept(provider(), argue(made, kGoOn));
    now_ms_ += 49;
  }
  accept(provider(), argue(made, kGoOn));
  EXPECT_EQ(row(made, accuser_).move_ms, 410u);
  now_ms_ = 410;
  EXPECT_THAT(refusal(accuser_.key, argue(made, kGoOn)), HasSubstr("moves had time until 410 ms"));
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kAcquitted);
}

TEST_F(MoneyCases, MovesAreBoundedAndALongOneIsReadBack) {
  const Step made = contested();
  Argue longest = argue(made, kGoOn);
  longest.move.resize(limits::kDisputeMoveBytesMax + 1);
  EXPECT_THAT(refusal(accuser_.key, longest), HasSubstr("move: 262145 bytes, at most 262144"));
  longest.move.pop_back();
  accept(accuser_.key, longest);
}

TEST_F(MoneyCases, WhatIsInDoubtIsForAuditors) {
  const Step made = contested();
  accept(provider(), argue(made, ScriptedArbiter::kUndecided));
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
  accept(provider(), on<Concede>(made));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
}

TEST_F(MoneyCases, AFriendWhoAccusesFirstIsNoShield) {
  const Step made = ticket(3);
  accept(friend_.key, accuse(made));
  accept(accuser_.key, accuse(made));
  EXPECT_EQ(ledger_.state().accused.get(provider_address()), 2u);
  // The friend loses on purpose.
  accept(provider(), on<Contest>(made, friend_));
  now_ms_ += 50;
  accept(provider(), on<Expire>(made, friend_));
  EXPECT_EQ(row(made, friend_).status, CaseStatus::kAcquitted);
  accept(provider(), on<Contest>(made));
  accept(accuser_.key, argue(made, ScriptedArbiter::kProviderWrong));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(balance(accuser_.address), 140u);
}

TEST_F(MoneyCases, OneConvictionEndsAllCasesOfAReceipt) {
  const Step made = ticket(3);
  accept(friend_.key, accuse(made));
  accept(accuser_.key, accuse(made));
  accept(provider(), on<Contest>(made, friend_));
  Argue of_friend = argue(made, kGoOn);
  of_friend.accuser = friend_.address;
  accept(friend_.key, of_friend);
  accept(provider(), on<Concede>(made));
  EXPECT_EQ(row(made, friend_).status, CaseStatus::kConvicted);
  EXPECT_EQ(bond(friend_) + bond(accuser_), 0u);
  EXPECT_EQ(balance(friend_.address), 100u);
  EXPECT_EQ(ledger_.state().accused.rows().size(), 0u);
  fund(provider(), {{AccountKind::kStake, 500}}, 90);
  EXPECT_THAT(refusal(provider(), on<Concede>(made, friend_)), HasSubstr("it is over"));
  EXPECT_EQ(stake(), 500u);
}

// Two receipts of one step are two cases, but one ticket.
TEST_F(MoneyCases, OneTicketIsPunishedOnce) {
  const Step made = ticket(3);
  Step other = made;
  other.receipt.round = 4;
  pair_.sign({&other, 1});
  accept(accuser_.key, accuse(made));
  accept(accuser_.key, accuse(other));
  accept(provider(), on<Concede>(made));
  fund(provider(), {{AccountKind::kStake, 500}}, 90);
  accept(provider(), on<Concede>(other));
  EXPECT_EQ(stake(), 500u);
  EXPECT_EQ(balance(accuser_.address), 140u);
}

TEST_F(MoneyCases, AnAccusedTicketIsNotPaid) {
  const Step made = ticket(3);
  accept(provider(), Open{pair_.claim(made), {}});
  accept(accuser_.key, accuse(made));
  now_ms_ += 500;
  protocol::JointSettlement outcome{
      ticket_of(made), gateway_address(), provider_address(), Amount(1), Amount(0), {}, {}};
  outcome.by_client = protocol::sign_settlement(gateway(), outcome);
  outcome.by_holder = protocol::sign_settlement(provider(), outcome);
  const auto paid_by = [&] {
    return std::vector{refusal(provider(), Mature{ticket_of(made)}),
                       refusal(auditor_.key, judge(made, Outcome::kMatch, auditor_.key)),
                       refusal(gateway(), Settle{made.receipt, {}, outcome})};
  };
  const auto refused = HasSubstr("is accused in 1 cases");
  EXPECT_THAT(paid_by(), ::testing::Each(refused));
  accept(provider(), on<Contest>(made));
  EXPECT_THAT(paid_by(), ::testing::Each(refused));
  accept(provider(), argue(made, ScriptedArbiter::kUndecided));
  EXPECT_THAT(paid_by(), ::testing::Each(refused));
  summon(made);
  for (int i = 0; i < 2; ++i) reported(made, made.output_root);
  accept(provider(), Mature{ticket_of(made)});
}

TEST_F(MoneyCases, AStakeAnnouncedBeforeTheAccusationStays) {
  accept(provider(), AnnounceWithdrawal{AccountKind::kStake, Amount(500)});
  const std::uint64_t number = ledger_.state().scalars.entries - 1;
  const Step made = ticket(3);
  accept(accuser_.key, accuse(made));
  now_ms_ += 1000;
  EXPECT_THAT(refusal(provider(), CompleteWithdrawal{number}),
              HasSubstr("stake: its owner is accused in 1 cases"));
  accept(provider(), on<Concede>(made));
  EXPECT_EQ(burnt(), 250u);
  EXPECT_THAT(refusal(provider(), CompleteWithdrawal{number}), HasSubstr("has none of number"));
}

// What is reserved for its winner would be kept for ever.
TEST_F(MoneyCases, TheSilenceOfWhoHasNoStakeLeftIsHeldAgainstIt) {
  const Step first = ticket(3), second = ticket(4);
  accept(accuser_.key, accuse(first));
  accept(accuser_.key, accuse(second));
  now_ms_ += 1000;
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(second)), HasSubstr("nobody owes anything"));
  accept(provider(), on<Concede>(first));
  ASSERT_EQ(stake(), 0u);
  accept(stranger_.key, on<Expire>(second));
  EXPECT_EQ(status(second), CaseStatus::kConvicted);
  EXPECT_EQ(bond(accuser_), 0u);
}

}  // namespace
}  // namespace commensal::ledger
