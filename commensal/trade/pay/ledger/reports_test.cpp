// SPDX-License-Identifier: Apache-2.0
// What auditors from outside say of an accused answer, and what it costs to say something else.
#include <commensal/trade/pay/ledger/testing/cases_fixture.hpp>

namespace commensal::ledger {
namespace {

using ::testing::HasSubstr;
using testing::Person;
using testing::ScriptedArbiter;
using testing::Step;

class MoneyReports : public testing::CasesFixture {
 protected:
  std::uint64_t stake_of(const Person& auditor) const {
    return balance(auditor.address, AccountKind::kStake);
  }
  /// Accused where no dispute can be played, and auditors are drawn.
  Step drawn() {
    const Step made = undecided();
    summon(made);
    return made;
  }
  /// Accused, and says nothing in its time.
  Step silent() {
    const Step made = ticket(3);
    accept(accuser_.key, accuse(made));
    now_ms_ += 200;
    summon(made);
    return made;
  }
};

TEST_F(MoneyReports, TwoThatAgreeConvict) {
  const Step made = drawn();
  const Person& liar = reported(made, made.output_root);
  const Person& right = reported(made, other_root_);
  const Person& odd = reported(made, Digest{78});
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
  reported(made, other_root_);
  EXPECT_EQ(status(made), CaseStatus::kUndecided);  // others have their time
  now_ms_ += 200;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(row(made, accuser_).findings.size(), 4u);
  EXPECT_EQ(stake_of(liar), 0u);
  EXPECT_EQ(stake_of(right), 70u);
  EXPECT_EQ(stake_of(odd), 70u);
  EXPECT_EQ(burnt(), 250u + 35u);
  EXPECT_EQ(balance(accuser_.address), 100u + 40u + 35u);
}

TEST_F(MoneyReports, TwoThatAgreeAcquit) {
  const Step made = drawn();
  const Person& liar = reported(made, other_root_);
  reported(made, made.output_root);
  reported(made, made.output_root);
  EXPECT_EQ(status(made), CaseStatus::kUndecided);  // others have their time
  now_ms_ += 200;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kAcquitted);
  EXPECT_EQ(stake(), 500u);
  EXPECT_EQ(stake_of(liar), 0u);
  EXPECT_EQ(burnt(), 11u + 35u);
  EXPECT_EQ(balance(provider_address()), 10u + 35u);
  EXPECT_THAT(refusal(liar.key, report(made, other_root_)), HasSubstr("it is over: acquitted"));
}

TEST_F(MoneyReports, TheAccusedHasItsTimeBeforeAnybodyIsDrawn) {
  const Step made = ticket(3);
  accept(accuser_.key, accuse(made));
  now_ms_ += 199;
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)), HasSubstr("the case is accused"));
  ++now_ms_;
  summon(made);
  for (int i = 0; i < 2; ++i) reported(made, other_root_);
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
}

// The fault: a cheat's two friends acquitted it before anybody else could speak.
TEST_F(MoneyReports, AnAcquittalNeedsItsTimeToo) {
  const Step made = drawn();
  for (int i = 0; i < 2; ++i) reported(made, made.output_root);
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
  accept(provider(), on<Concede>(made));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
}

TEST_F(MoneyReports, WhoIsCalledOrHasReportedStaysUntilItIsDecided) {
  const Step made = drawn();
  const Person& one = called(made);
  accept(one.key, AnnounceWithdrawal{AccountKind::kStake, Amount(70)});
  const std::uint64_t number = ledger_.state().scalars.entries - 1;
  now_ms_ += 1000;
  constexpr auto kStays = "answers for a report";
  EXPECT_THAT(refusal(one.key, CompleteWithdrawal{number}), HasSubstr(kStays));
  accept(provider(), on<Concede>(made));
  accept(one.key, CompleteWithdrawal{number});
  const Step other = ticket(4);
  accept(accuser_.key, accuse(other, ScriptedArbiter::kNotPlayed));
  summon(other);
  const Person& two = reported(other, other_root_);
  accept(two.key, AnnounceWithdrawal{AccountKind::kStake, Amount(70)});
  now_ms_ += 1000;
  EXPECT_THAT(refusal(two.key, CompleteWithdrawal{ledger_.state().scalars.entries - 1}),
              HasSubstr(kStays));
}

TEST_F(MoneyReports, WhileBothArgueTheyDecideNothing) {
  const Step made = silent();
  reported(made, other_root_);
  accept(provider(), on<Contest>(made));  // late
  reported(made, other_root_);
  EXPECT_EQ(status(made), CaseStatus::kContested);
  accept(accuser_.key, argue(made, ScriptedArbiter::kGoOn));
  accept(provider(), argue(made, ScriptedArbiter::kUndecided));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);  // now they do
}

TEST_F(MoneyReports, AuditorsWhoPartAreNoProof) {
  const Step made = drawn();
  for (std::uint8_t i = 0; i < 4; ++i) reported(made, Digest{static_cast<std::uint8_t>(90 + i)});
  now_ms_ += 1000;
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(made)), HasSubstr("nobody owes anything"));
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
}

// Two friends can lose a dispute, or win it, whatever the answer was.
TEST_F(MoneyReports, OnlyOtherReportsProveAReportFalse) {
  const Step proved = silent();
  const Person& first = reported(proved, proved.output_root);
  accept(provider(), on<Contest>(proved));
  accept(accuser_.key, argue(proved, ScriptedArbiter::kProviderWrong));
  EXPECT_EQ(stake_of(first), 70u);
  const Step conceded = drawn();
  const Person& second = reported(conceded, conceded.output_root);
  accept(provider(), on<Concede>(conceded));
  EXPECT_EQ(stake_of(second), 70u);
}

TEST_F(MoneyReports, OnlyStakedAuditorsFromOutsideReport) {
  const Step made = drawn();
  constexpr auto kInside = "is no auditor from outside";
  EXPECT_THAT(refusal(accuser_.key, report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(provider(), report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(gateway(), report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(operator_.key, report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(stranger_.key, report(made, other_root_)),
              HasSubstr("was not drawn for this case"));
  const Person& one = reported(made, other_root_);
  EXPECT_THAT(refusal(one.key, report(made, other_root_)), HasSubstr("has made one in this case"));
  Report elsewhere = report(made, other_root_);
  elsewhere.accuser = friend_.address;
  EXPECT_THAT(refusal(one.key, elsewhere), HasSubstr("has not accused"));
}

TEST_F(MoneyReports, AJobsListSaysWhoReports) {
  protocol::Job job = pair_.job(ticket::certain_threshold(), Amount(100));
  job.auditors = protocol::AuditorClass::kOwnerList;
  job.auditor_list = {auditors_[1].address, auditors_[2].address};
  Step made = pair_.step(job, 3);
  pair_.sign({&made, 1});
  accept(accuser_.key, accuse(made, ScriptedArbiter::kNotPlayed));
  summon(made);
  EXPECT_THAT(row(made, accuser_).called, ::testing::UnorderedElementsAreArray(job.auditor_list));
  EXPECT_THAT(refusal(auditors_[0].key, report(made, other_root_)),
              HasSubstr("is not on the list of the job's owner"));
}

TEST_F(MoneyReports, AnAuditorAnswersForWhatItConfirmed) {
  const Step made = ticket(3);
  const auto of_report = [&](const Digest& root) {
    Accuse body = accuse(made);
    body.report = protocol::sign_report(auditors_[0].key, {id_of(made), root, {}, {}});
    return body;
  };
  EXPECT_THAT(refusal(accuser_.key, of_report(other_root_)), HasSubstr("does not confirm"));
  Accuse forged = of_report(made.output_root);
  forged.report->auditor = auditors_[1].address;
  EXPECT_THAT(refusal(accuser_.key, forged), HasSubstr("audit report: "));
  const Accuse body = of_report(made.output_root);
  EXPECT_THAT(refusal(auditors_[0].key, body), HasSubstr("it is the accused itself"));
  accept(accuser_.key, body);
  const Digest subject = subject_of(body);
  const CaseKey key{subject, accuser_.address};
  EXPECT_THAT(refusal(provider(), Contest{subject, accuser_.address}),
              HasSubstr("expected the accused"));
  accept(auditors_[0].key, Contest{subject, accuser_.address});
  // Its ticket is not accused, nor is its provider.
  EXPECT_EQ(ledger_.state().accused_tickets.rows().size(), 0u);
  EXPECT_EQ(ledger_.state().accused.get(provider_address()), 0u);
  EXPECT_EQ(ledger_.state().accused.get(auditors_[0].address), 1u);
  accept(accuser_.key, Argue{subject, accuser_.address, {ScriptedArbiter::kProviderWrong}});
  EXPECT_EQ(ledger_.state().cases.find(key)->status, CaseStatus::kConvicted);
  EXPECT_EQ(stake_of(auditors_[0]), 0u);
  EXPECT_EQ(ledger_.state().bench.find(auditors_[0].address), nullptr);
  EXPECT_EQ(stake(), 500u);
  EXPECT_EQ(balance(accuser_.address), 100u + 35u);
  EXPECT_THAT(refusal(friend_.key, body), HasSubstr("was convicted of it already"));
}

}  // namespace
}  // namespace commensal::ledger
