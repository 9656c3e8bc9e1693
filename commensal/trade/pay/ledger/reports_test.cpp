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
  std::uint64_t stake_of(std::size_t auditor) const {
    return balance(auditors_[auditor].address, AccountKind::kStake);
  }
  void reports(const Step& made, std::size_t auditor, const Digest& root) {
    accept(auditors_[auditor].key, report(made, root));
  }
};

TEST_F(MoneyReports, TwoThatAgreeConvict) {
  const Step made = undecided();
  reports(made, 0, made.output_root);  // false
  reports(made, 1, other_root_);
  reports(made, 2, Digest{78});
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
  reports(made, 3, other_root_);
  EXPECT_EQ(status(made), CaseStatus::kUndecided);  // others have their time
  now_ms_ += 200;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
  EXPECT_EQ(stake(), 0u);
  EXPECT_EQ(row(made, accuser_).findings.size(), 4u);
  EXPECT_EQ(stake_of(0), 0u);
  EXPECT_EQ(stake_of(1), 70u);
  EXPECT_EQ(stake_of(2), 70u);
  EXPECT_EQ(burnt(), 250u + 35u);
  EXPECT_EQ(balance(accuser_.address), 100u + 40u + 35u);
}

TEST_F(MoneyReports, TwoThatAgreeAcquit) {
  const Step made = undecided();
  reports(made, 0, other_root_);  // false
  reports(made, 1, made.output_root);
  reports(made, 2, made.output_root);
  EXPECT_EQ(status(made), CaseStatus::kUndecided);  // others have their time
  now_ms_ += 200;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kAcquitted);
  EXPECT_EQ(stake(), 500u);
  EXPECT_EQ(stake_of(0), 0u);
  EXPECT_EQ(burnt(), 11u + 35u);
  EXPECT_EQ(balance(provider_address()), 10u + 35u);
  EXPECT_THAT(refusal(auditors_[3].key, report(made, other_root_)),
              HasSubstr("it is over: acquitted"));
}

TEST_F(MoneyReports, TheAccusedHasItsTimeBeforeTheyConvict) {
  const Step made = ticket(3);
  accept(accuser_.key, accuse(made));
  reports(made, 0, other_root_);
  reports(made, 1, other_root_);
  EXPECT_EQ(status(made), CaseStatus::kAccused);
  now_ms_ += 199;
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(made)), HasSubstr("nobody owes anything"));
  ++now_ms_;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
}

// The fault: a cheat's two friends acquitted it before anybody else could speak.
TEST_F(MoneyReports, AnAcquittalNeedsItsTimeToo) {
  const Step made = ticket(3);
  accept(accuser_.key, accuse(made));
  reports(made, 0, made.output_root);
  reports(made, 1, made.output_root);
  EXPECT_EQ(status(made), CaseStatus::kAccused);
  accept(provider(), on<Contest>(made));
  accept(accuser_.key, argue(made, ScriptedArbiter::kProviderWrong));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);
}

TEST_F(MoneyReports, WhoHasReportedStaysUntilItIsDecided) {
  const Step made = undecided();
  reports(made, 0, other_root_);
  accept(auditors_[0].key, AnnounceWithdrawal{AccountKind::kStake, Amount(70)});
  const std::uint64_t number = ledger_.state().scalars.entries - 1;
  now_ms_ += 1000;
  EXPECT_THAT(refusal(auditors_[0].key, CompleteWithdrawal{number}),
              HasSubstr("answers for a report"));
  accept(provider(), on<Concede>(made));
  accept(auditors_[0].key, CompleteWithdrawal{number});
}

TEST_F(MoneyReports, WhileBothArgueTheyDecideNothing) {
  const Step made = contested();
  reports(made, 0, other_root_);
  reports(made, 1, other_root_);
  EXPECT_EQ(status(made), CaseStatus::kContested);
  accept(accuser_.key, argue(made, ScriptedArbiter::kGoOn));
  now_ms_ += 40;
  accept(provider(), argue(made, ScriptedArbiter::kUndecided));
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
  now_ms_ += 160;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kConvicted);  // now they do
}

TEST_F(MoneyReports, AuditorsWhoPartAreNoProof) {
  const Step made = contested();
  for (std::size_t i = 0; i < 4; ++i) reports(made, i, i < 2 ? other_root_ : made.output_root);
  accept(accuser_.key, argue(made, ScriptedArbiter::kGoOn));
  now_ms_ += 200;
  accept(stranger_.key, on<Expire>(made));
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
}

// Two friends can lose a dispute, or win it, whatever the answer was.
TEST_F(MoneyReports, OnlyOtherReportsProveAReportFalse) {
  const Step proved = contested();
  reports(proved, 0, proved.output_root);
  accept(accuser_.key, argue(proved, ScriptedArbiter::kProviderWrong));
  EXPECT_EQ(stake_of(0), 70u);
  const Step conceded = undecided();
  reports(conceded, 0, conceded.output_root);
  accept(provider(), on<Concede>(conceded));
  EXPECT_EQ(stake_of(0), 70u);
  const Step silent = contested();
  reports(silent, 0, other_root_);
  now_ms_ += 50;
  accept(stranger_.key, on<Expire>(silent));
  EXPECT_EQ(status(silent), CaseStatus::kAcquitted);
  EXPECT_EQ(stake_of(0), 70u);
}

TEST_F(MoneyReports, OnlyStakedAuditorsFromOutsideReport) {
  const Step made = undecided();
  constexpr auto kInside = "is no auditor from outside";
  EXPECT_THAT(refusal(accuser_.key, report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(provider(), report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(gateway(), report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(operator_.key, report(made, other_root_)), HasSubstr(kInside));
  EXPECT_THAT(refusal(stranger_.key, report(made, other_root_)),
              HasSubstr("has a stake of 0, at least 70 answers for a report"));
  fund(stranger_.key, {{AccountKind::kStake, 69}}, 90);
  EXPECT_THAT(refusal(stranger_.key, report(made, other_root_)), HasSubstr("has a stake of 69"));
  reports(made, 0, other_root_);
  EXPECT_THAT(refusal(auditors_[0].key, report(made, other_root_)),
              HasSubstr("has made one in this case"));
  Report elsewhere = report(made, other_root_);
  elsewhere.accuser = friend_.address;
  EXPECT_THAT(refusal(auditors_[1].key, elsewhere), HasSubstr("has not accused"));
}

TEST_F(MoneyReports, AJobsListSaysWhoReports) {
  protocol::Job job = pair_.job(ticket::certain_threshold(), Amount(100));
  job.auditors = protocol::AuditorClass::kOwnerList;
  job.auditor_list = {auditors_[1].address};
  Step made = pair_.step(job, 3);
  pair_.sign({&made, 1});
  accept(accuser_.key, accuse(made));
  EXPECT_THAT(refusal(auditors_[0].key, report(made, other_root_)),
              HasSubstr("is not on the list"));
  reports(made, 1, other_root_);
}

TEST_F(MoneyReports, WhoIsAccusedHasNoSay) {
  // Somebody who provides for another gateway: the same ledger, another pair.
  ticket::testing::Pair others(9);
  const crypto::SecretKey& suspect = others.provider_key;
  fund(suspect, {{AccountKind::kStake, 100}}, 90);
  Step theirs = others.step(others.job(ticket::certain_threshold(), Amount(1)), protocol::kNoDraw);
  others.sign({&theirs, 1});
  accept(friend_.key, accuse(theirs));
  const Step made = undecided();
  EXPECT_THAT(refusal(suspect, report(made, other_root_)), HasSubstr("is accused itself"));
}

TEST_F(MoneyReports, AreBounded) {
  const Step made = undecided();
  for (std::uint8_t i = 0; i < 17; ++i) {
    const Person one(static_cast<std::uint8_t>(100 + i));
    fund(one.key, {{AccountKind::kStake, 70}}, static_cast<std::uint8_t>(100 + i));
    const Report body = report(made, Digest{static_cast<std::uint8_t>(100 + i)});
    if (i < 16) {
      accept(one.key, body);
    } else {
      EXPECT_THAT(refusal(one.key, body), HasSubstr("reports: at most 16 are accepted"));
    }
  }
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
  EXPECT_EQ(stake_of(0), 0u);
  EXPECT_EQ(stake(), 500u);
  EXPECT_EQ(balance(accuser_.address), 100u + 35u);
  EXPECT_THAT(refusal(friend_.key, body), HasSubstr("was convicted of it already"));
}

}  // namespace
}  // namespace commensal::ledger
