// SPDX-License-Identifier: Apache-2.0
// Who may report in a case is drawn, by a seed that nobody knew when it mattered.
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/ledger/draws.hpp>
#include <commensal/trade/pay/ledger/testing/cases_fixture.hpp>

namespace commensal::ledger {
namespace {

using ::testing::HasSubstr;
using testing::Person;
using testing::ScriptedArbiter;
using testing::Step;

class MoneyDraws : public testing::CasesFixture {
 protected:
  /// Accused where no dispute can be played; its consumer has a part in the draw.
  Step committed() {
    protocol::Job job = pair_.job(ticket::certain_threshold(), Amount(100));
    job.draw_commitment = protocol::commit_nonce(nonce_);
    Step made = pair_.step(job, 3);
    pair_.sign({&made, 1});
    accept(accuser_.key, accuse(made, ScriptedArbiter::kNotPlayed));
    return made;
  }
  void reveal(const Step& made) {
    const std::uint64_t round = ledger_.state().draws.get(id_of(made)).round;
    accept(stranger_.key, gateway_reveals(round));
    accept(stranger_.key, provider_reveals(round));
  }
  std::uint64_t stake_of(const Address& auditor) const {
    return balance(auditor, AccountKind::kStake);
  }
  const Digest nonce_{55};
};

// The fault: whoever had the stake under two keys, opened at any time, decided.
TEST_F(MoneyDraws, WhoWasNotDrawnHasNoSay) {
  const Step made = undecided();
  EXPECT_THAT(refusal(auditors_[0].key, report(made, other_root_)),
              HasSubstr("was not drawn for this case: nobody is, yet"));
  summon(made);
  const std::vector<Address> called = row(made, accuser_).called;
  EXPECT_EQ(called.size(), 2u);
  for (const Person& one : auditors_) {
    const bool may = std::ranges::find(called, one.address) != called.end();
    if (may) continue;
    EXPECT_THAT(refusal(one.key, report(made, other_root_)),
                HasSubstr("was not drawn for this case, or it is not its turn"));
  }
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)), HasSubstr("are drawn already"));
}

TEST_F(MoneyDraws, WhoComesAfterTheFirstAccusationIsNotDrawn) {
  const Person late(60);
  fund(late.key, {{AccountKind::kStake, 7000}}, 90);
  const Step made = undecided();
  accept(late.key, Enlist{});
  // Nor is it with a second accusation of the same receipt.
  accept(friend_.key, accuse(made, ScriptedArbiter::kNotPlayed));
  summon(made);
  accept(operator_.key, on<Summon>(made, friend_));
  for (const Person* accuser : {&accuser_, &friend_}) {
    const CaseRow& is = row(made, *accuser);
    EXPECT_EQ(is.called, row(made, accuser_).called);
    for (const auto& some : {is.called, is.drawn}) {
      EXPECT_EQ(std::ranges::count(some, late.address), 0);
    }
  }
}

TEST_F(MoneyDraws, AStakeThatWasAwayCountsAnew) {
  const Person& one = auditors_[0];
  EXPECT_THAT(refusal(one.key, Enlist{}), HasSubstr("on the list since entry"));
  accept(one.key, AnnounceWithdrawal{AccountKind::kStake, Amount(1)});
  EXPECT_EQ(ledger_.state().bench.find(one.address), nullptr);
  const Step made = undecided();
  fund(one.key, {{AccountKind::kStake, 1}}, 90);
  accept(one.key, Enlist{});
  summon(made);
  const CaseRow& is = row(made, accuser_);
  EXPECT_EQ(is.called.size() + is.drawn.size(), 3u);
  EXPECT_THAT(refusal(stranger_.key, Enlist{}), HasSubstr("stake: 0, an auditor has at least 70"));
  accept(auditors_[1].key, Enlist{0});
  EXPECT_EQ(ledger_.state().bench.find(auditors_[1].address), nullptr);
  EXPECT_THAT(refusal(auditors_[1].key, Enlist{2}), HasSubstr("listed: 2, expected 0 or 1"));
}

TEST_F(MoneyDraws, WhoIsSilentIsPassedOverAndPays) {
  const Step made = undecided();
  summon(made);
  const std::vector<Address> first = row(made, accuser_).called;
  now_ms_ += 59;
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(made)), HasSubstr("nobody owes anything"));
  ++now_ms_;
  accept(stranger_.key, on<Expire>(made));
  for (const Address& one : first) EXPECT_EQ(stake_of(one), 67u);  // 5 % of 70
  EXPECT_EQ(burnt(), 6u);
  const std::vector<Address> second = row(made, accuser_).called;
  ASSERT_EQ(second.size(), 2u);
  for (const Address& one : second) EXPECT_EQ(std::ranges::count(first, one), 0);
  reported(made, other_root_);
  now_ms_ += 200;
  accept(stranger_.key, on<Expire>(made));
  // There is nobody left: nothing is decided.
  EXPECT_TRUE(row(made, accuser_).called.empty());
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
  EXPECT_THAT(refusal(stranger_.key, on<Expire>(made)), HasSubstr("nobody owes anything"));
}

TEST_F(MoneyDraws, TooFewAuditorsDecideNothing) {
  for (std::size_t i = 1; i < auditors_.size(); ++i) accept(auditors_[i].key, Enlist{0});
  const Step made = undecided();
  reveal(made);
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)),
              HasSubstr("1 auditors were on the list before the accusation, 2 are needed"));
  EXPECT_EQ(status(made), CaseStatus::kUndecided);
}

TEST_F(MoneyDraws, TheSeedIsOfARoundThatWasNotDrawnAndOfTheConsumersNonce) {
  const Step made = committed();
  const DrawRow& draw = *ledger_.state().draws.find(id_of(made));
  EXPECT_EQ(draw.round, 4u);
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)), HasSubstr("nonce is waited for until"));
  accept(stranger_.key, gateway_reveals(draw.round));
  EXPECT_THAT(refusal(stranger_.key, Disclose{id_of(made), Digest{54}}),
              HasSubstr("does not open what the job commits to"));
  EXPECT_THAT(refusal(stranger_.key, Disclose{Digest{1}, nonce_}), HasSubstr("nobody has accused"));
  accept(stranger_.key, Disclose{id_of(made), nonce_});
  EXPECT_THAT(refusal(stranger_.key, Disclose{id_of(made), nonce_}), HasSubstr("is known"));
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)), HasSubstr("a reveal of its round is"));
  accept(stranger_.key, provider_reveals(draw.round));
  accept(operator_.key, on<Summon>(made));
  const DrawParts parts{id_of(made), 4, *pair_.gateway_chain.reveal(4),
                        *pair_.provider_chain.reveal(4), nonce_};
  EXPECT_EQ(ledger_.state().draws.find(id_of(made))->seed, draw_seed(parts));
  std::vector<Candidate> all;
  for (const Person& one : auditors_) all.push_back({one.address, 1});
  std::vector<Address> order = draw_order(draw_seed(parts), all);
  order.resize(2);
  EXPECT_EQ(row(made, accuser_).called, order);
}

TEST_F(MoneyDraws, WhatIsNotShownInTimeIsNotWaitedFor) {
  const Step made = committed();
  now_ms_ += 200;
  accept(operator_.key, on<Summon>(made));
  EXPECT_EQ(ledger_.state().draws.find(id_of(made))->seed, draw_seed({id_of(made), 4, {}, {}, {}}));
  EXPECT_THAT(refusal(stranger_.key, Disclose{id_of(made), nonce_}), HasSubstr("drawn already"));
}

TEST_F(MoneyDraws, AfterADisputeTheConsumerHasItsTimeToo) {
  protocol::Job job = pair_.job(ticket::certain_threshold(), Amount(100));
  job.draw_commitment = protocol::commit_nonce(nonce_);
  Step made = pair_.step(job, 3);
  pair_.sign({&made, 1});
  accept(accuser_.key, accuse(made));
  now_ms_ += 300;
  accept(provider(), on<Contest>(made));
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)), HasSubstr("the case is contested"));
  accept(provider(), argue(made, ScriptedArbiter::kUndecided));
  EXPECT_THAT(refusal(operator_.key, on<Summon>(made)), HasSubstr("is waited for until 370 ms"));
}

// Who pays a bond must not choose who is not drawn.
TEST_F(MoneyDraws, WhoIsAccusedItselfIsDrawnAllTheSame) {
  ticket::testing::Pair others(9);
  const crypto::SecretKey& suspect = others.provider_key;
  fund(suspect, {{AccountKind::kStake, 70}}, 90);
  accept(suspect, Enlist{});
  for (const Person& one : auditors_) accept(one.key, Enlist{0});
  accept(auditors_[0].key, Enlist{});
  Step theirs = others.step(others.job(ticket::certain_threshold(), Amount(1)), protocol::kNoDraw);
  others.sign({&theirs, 1});
  accept(friend_.key, accuse(theirs));
  const Step made = undecided();
  summon(made);
  EXPECT_EQ(std::ranges::count(row(made, accuser_).called, suspect.address()), 1);
  accept(suspect, report(made, other_root_));
}

TEST(Draws, AreByStakeAndNobodyIsMovedByWhoIsMissing) {
  Config config;
  config.auditor_stake = Amount(100);
  EXPECT_EQ(lots_of(Amount(99), config), 0u);
  EXPECT_EQ(lots_of(Amount(399), config), 3u);
  EXPECT_EQ(lots_of(Amount::from_words(1, 0), config), 64u);
  std::vector<Candidate> all;
  for (std::uint8_t i = 1; i <= 10; ++i) all.push_back({Address{{i}}, i == 1 ? 3u : 1u});
  constexpr int kDraws = 4000;
  int first = 0;
  for (int i = 0; i < kDraws; ++i) {
    Digest seed{};
    seed[0] = static_cast<std::uint8_t>(i), seed[1] = static_cast<std::uint8_t>(i >> 8);
    std::vector<Address> order = draw_order(seed, all);
    ASSERT_EQ(order.size(), all.size());
    first += order[0] == all[0].auditor ? 1 : 0;
    const Candidate gone = all[static_cast<std::size_t>(i) % all.size()];
    std::vector<Candidate> fewer = all;
    std::erase_if(fewer, [&](const Candidate& one) { return one.auditor == gone.auditor; });
    std::erase(order, gone.auditor);
    ASSERT_EQ(draw_order(seed, fewer), order);
  }
  EXPECT_NEAR(first, kDraws * 3 / 12, 110);  // four standard deviations
}

}  // namespace
}  // namespace commensal::ledger
