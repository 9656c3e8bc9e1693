// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/trade/market/panel/testing/case_fixture.hpp>

namespace commensal::panel {
namespace {

using namespace testing;
using core::ErrorCode;

TEST(PanelCase, SilenceAndConsentLetTheClaimStand) {
  for (const bool silent : {false, true}) {
    Court court(1);
    court.open();
    EXPECT_EQ(*court.at().turn(), court.client);
    if (silent) {
      court.time_out();
    } else {
      ASSERT_TRUE(court.submit(court.move(MoveKind::kAccept, court.client)));
    }
    const Outcome expected{
        Ending::kAccepted, Amount(1000), Amount(), {{court.holder, Amount(300)}}};
    EXPECT_EQ(court.at().outcome(), expected);
  }
}

TEST(PanelCase, AnAuditorIsEnoughWhereWhoHasLostAcceptsIt) {
  Court court(2);
  court.open();
  ASSERT_TRUE(court.submit(court.move(MoveKind::kObject, court.client)));
  court.vote(1, 0);
  ASSERT_EQ(court.at().stage(), Stage::kAppeal);
  EXPECT_EQ(*court.at().turn(), court.holder);
  EXPECT_EQ(court.at().stake_asked(), Amount(3 * 7 + 50));
  court.time_out();
  ASSERT_TRUE(court.at().outcome());
  EXPECT_EQ(court.at().outcome()->to_holder, Amount(0));
  // The objection's stake of 57 pays the auditor 7; the rest and the holder's bond are the
  // client's.
  EXPECT_EQ(court.paid_to(court.at().instances()[0].ballots[0].member), 7u);
  EXPECT_EQ(court.paid_to(court.client), 350u);
  EXPECT_EQ(court.paid_to(court.holder), 0u);
}

TEST(PanelCase, EachAppealAsksTwiceAsManyAndOneAndThenTheArbiter) {
  Court court(3);
  court.terms.appeals_max = 2;
  court.open();
  ASSERT_TRUE(court.submit(court.move(MoveKind::kObject, court.client)));
  court.vote(0, 1);
  ASSERT_TRUE(court.submit(court.move(MoveKind::kAppeal, court.client)));
  court.vote(2, 1);
  ASSERT_TRUE(court.submit(court.move(MoveKind::kAppeal, court.holder)));
  court.vote(2, 4);  // one is silent
  EXPECT_EQ(court.at().stake_asked(), Amount(70));
  ASSERT_TRUE(court.submit(court.move(MoveKind::kAppeal, court.client)));
  EXPECT_EQ(court.at().stage(), Stage::kArbiter);
  std::vector<std::size_t> sizes;
  std::vector<Address> asked;
  for (const Instance& instance : court.at().instances()) {
    sizes.push_back(instance.size);
    for (const Ballot& ballot : instance.ballots) asked.push_back(ballot.member);
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 3, 7, 1}));
  std::ranges::sort(asked);
  EXPECT_EQ(std::ranges::adjacent_find(asked), asked.end()) << "somebody was asked twice";
  ASSERT_TRUE(court.submit(court.move(MoveKind::kDecide, court.arbiter, Ruling::kForClient)));
  EXPECT_EQ(court.at().outcome()->ending, Ending::kDecided);
  EXPECT_EQ(court.at().outcome()->to_holder, Amount(0));
  EXPECT_EQ(court.paid_to(court.arbiter), 20u);
  // Stakes 57 + 71 + 70 and 99 + 300; fees 7 + 2 x 7 + 20 of the client's, 4 x 7 of the holder's.
  EXPECT_EQ(court.paid_to(court.client), 597u - 41 - 28);
  EXPECT_EQ(court.paid(), court.staked);
}

TEST(PanelCase, BothMaySettleAtAnyTime) {
  for (int stages = 0; stages < 6; ++stages) {
    Court court(4);
    court.open();
    const auto step = [&](int after, auto&& act) {
      if (stages > after) act();
    };
    step(0, [&] { ASSERT_TRUE(court.submit(court.move(MoveKind::kObject, court.client))); });
    step(1, [&] { ASSERT_TRUE(court.submit(court.draw())); });
    const auto member = [&] { return court.at().instances()[0].ballots[0].member; };
    step(2, [&] { ASSERT_TRUE(court.submit(court.commit(member(), Ruling::kForClient))); });
    step(3, [&] { ASSERT_TRUE(court.submit(court.reveal(member(), Ruling::kForClient))); });
    step(4, [&] { ASSERT_TRUE(court.submit(court.move(MoveKind::kAppeal, court.holder))); });
    court.now_ms += 10'000;  // deadlines do not matter to who agrees
    ASSERT_TRUE(court.submit(court.settlement(600, 5)));
    EXPECT_EQ(court.at().outcome()->ending, Ending::kSettled);
    EXPECT_EQ(court.at().outcome()->to_holder, Amount(600));
    EXPECT_EQ(court.at().outcome()->to_client, Amount(5));
    const std::uint64_t fee = stages > 2 ? 7 : 0;  // who has voted is paid
    EXPECT_EQ(court.paid_to(court.client), (stages > 0 ? 57 : 0) - fee) << stages;
    EXPECT_EQ(court.paid_to(court.holder), 300u + (stages > 4 ? 71 : 0)) << stages;
    EXPECT_EQ(court.paid(), court.staked);
  }
}

TEST(PanelCase, AVoteWithoutMajorityGoesToTheArbiter) {
  for (const bool tie : {false, true}) {
    Court court(5);
    court.open();
    ASSERT_TRUE(court.submit(court.move(MoveKind::kObject, court.client)));
    court.vote(1, 0);
    ASSERT_TRUE(court.submit(court.move(MoveKind::kAppeal, court.holder)));
    if (tie) {
      court.vote(1, 1);
    } else {
      ASSERT_TRUE(court.submit(court.draw()));
      court.time_out();
    }
    ASSERT_EQ(court.at().stage(), Stage::kArbiter);
    court.time_out();  // and is silent: the last ruling stands
    EXPECT_EQ(court.at().outcome()->ending, Ending::kLastRuling);
    EXPECT_EQ(court.at().outcome()->to_holder, Amount(0));
    EXPECT_EQ(court.paid_to(court.client), 50u + 300 + 71 - (tie ? 14 : 0));
    EXPECT_EQ(court.paid(), court.staked);
  }
}

TEST(PanelCase, WithoutArbiterTheLastRulingStandsAndWithoutRulingTheClaim) {
  Court silent(6, 12, false);
  silent.open();
  ASSERT_TRUE(silent.submit(silent.move(MoveKind::kObject, silent.client)));
  silent.time_out();  // no beacon
  EXPECT_EQ(silent.at().outcome()->ending, Ending::kLastRuling);
  EXPECT_EQ(silent.at().outcome()->to_holder, Amount(1000));
  Court few(7, 2, false);  // too few for a panel of three
  few.open();
  ASSERT_TRUE(few.submit(few.move(MoveKind::kObject, few.client)));
  few.vote(1, 0);
  EXPECT_EQ(few.at().outcome()->ending, Ending::kLastRuling);
  EXPECT_EQ(few.at().outcome()->to_holder, Amount(0));
}

TEST(PanelCase, ACopiedCommitmentIsNoVote) {
  Court court(8);
  court.open();
  ASSERT_TRUE(court.submit(court.move(MoveKind::kObject, court.client)));
  court.vote(1, 0);
  ASSERT_TRUE(court.submit(court.move(MoveKind::kAppeal, court.holder)));
  ASSERT_TRUE(court.submit(court.draw()));
  const auto ballots = court.at().instances().back().ballots;
  const Move first = court.commit(ballots[0].member, Ruling::kForClient);
  ASSERT_TRUE(court.submit(first));
  ASSERT_TRUE(court.submit(court.move(MoveKind::kCommit, ballots[1].member, {}, first.word)));
  court.time_out();
  const Move opened = court.reveal(ballots[0].member, Ruling::kForClient);
  ASSERT_TRUE(court.submit(opened));
  const auto copied = court.submit(
      court.move(MoveKind::kReveal, ballots[1].member, Ruling::kForClient, opened.word));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::kInvalidArgument);
  court.time_out();  // one vote of one that counts
  EXPECT_EQ(court.at().ruling(), Ruling::kForClient);
  court.time_out();
  EXPECT_EQ(court.paid_to(ballots[0].member), 7u);
  EXPECT_EQ(court.paid_to(ballots[1].member), 0u);
}

TEST(PanelCase, RefusesByNameAndStaysAsItWas) {
  Court court(9);
  court.open();
  const Event opening = [&] {
    Event event = event_of(court.move(MoveKind::kObject, court.client));
    event.at_ms = court.now_ms;
    event.round = court.round;
    return event;
  }();
  ASSERT_TRUE(court.submit(opening));
  const auto refuse = [&](const auto& what, ErrorCode code, std::string_view part) {
    const Case before = court.at();
    const auto done = court.submit(what);
    ASSERT_FALSE(done) << part;
    EXPECT_EQ(done.error().code, code) << done.error().message;
    EXPECT_NE(done.error().message.find(part), std::string::npos) << done.error().message;
    EXPECT_TRUE(court.at() == before) << part;
  };
  const auto bent = [&](auto&& bend) {
    Event event = event_of(Timeout());
    event.number = 1;
    event.at_ms = court.now_ms;
    event.round = court.round;
    bend(event);
    return event;
  };
  refuse(opening, ErrorCode::kAlreadyExists, "number 0 again, expected 1");
  refuse(bent([](Event& event) { event.number = 2; }), ErrorCode::kFailedPrecondition,
         "number 2, expected 1");
  refuse(bent([](Event& event) { event.at_ms = 4999; }), ErrorCode::kFailedPrecondition,
         "expected at least 5000 ms");
  refuse(bent([](Event& event) { event.round = 39; }), ErrorCode::kFailedPrecondition, "round 40");
  refuse(bent([](Event& event) { event.body = {1}; }), ErrorCode::kInvalidArgument, "1 bytes");
  refuse(Deed(Timeout()), ErrorCode::kFailedPrecondition, "too early");
  refuse(Deed(court.move(MoveKind::kObject, court.client)), ErrorCode::kFailedPrecondition,
         "'object' is not allowed in stage 'draw'");
  refuse(Deed(Draw{40, {}}), ErrorCode::kInvalidArgument, "round 40, expected 41");
  Move old = court.move(MoveKind::kObject, court.client);
  old.instance = 0;
  refuse(Deed(old), ErrorCode::kFailedPrecondition, "for instance 0, expected 1");
  old.case_id = {};
  refuse(Deed(old), ErrorCode::kInvalidArgument, "about case");
  ASSERT_TRUE(court.submit(court.draw()));
  const Address member = court.at().instances()[0].ballots[0].member;
  Move forged = court.commit(member, Ruling::kForHolder);
  forged.word[0] ^= 1;
  refuse(Deed(forged), ErrorCode::kUnauthenticated, "expected");
  refuse(Deed(court.commit(court.client, Ruling::kForClient)), ErrorCode::kPermissionDenied,
         "expected one of the 1 members");
  protocol::JointSettlement lone = court.settlement(1, 1);
  lone.by_client = lone.by_holder;
  refuse(Deed(lone), ErrorCode::kUnauthenticated, "client");
  lone = court.settlement(1, 1);
  lone.to_holder = Amount(2);
  refuse(Deed(lone), ErrorCode::kUnauthenticated, "client");
  lone.ticket = {};
  refuse(Deed(lone), ErrorCode::kInvalidArgument, "settles ticket");
  lone = court.settlement(1, 1);
  std::swap(lone.client, lone.holder);
  refuse(Deed(lone), ErrorCode::kInvalidArgument, "it is between");
  court.now_ms = court.at().deadline_ms();
  refuse(Deed(court.commit(member, Ruling::kForHolder)), ErrorCode::kDeadlineExceeded, "too late");
  court.time_out();
  court.time_out();
  refuse(Deed(court.settlement(1, 1)), ErrorCode::kFailedPrecondition, "closed");
}

TEST(PanelCase, RefusesTermsThatMakeNoSense) {
  const Court court(10);
  const auto refused = [&](auto&& bend) {
    Terms terms = court.terms;
    bend(terms);
    return !Case::open(terms, 0, 0).has_value() &&
           !protocol::decode<Terms>(protocol::encode(terms)).has_value();
  };
  ASSERT_TRUE(Case::open(court.terms, 0, 0));
  EXPECT_TRUE(refused([](Terms& terms) { terms.holder = terms.client; }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.client = {}; }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.arbiter = terms.holder; }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.auditors.clear(), terms.arbiter = {}; }));
  EXPECT_TRUE(refused([](Terms& terms) { std::swap(terms.auditors[0], terms.auditors[1]); }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.auditors[1] = terms.auditors[0]; }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.arbiter = terms.auditors[3]; }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.deposit = Amount(19); }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.face = Amount::from_words(1ull << 51, 0); }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.appeals_max = 6; }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.reveal_ms = 0; }));
  EXPECT_TRUE(refused([](Terms& terms) { terms.draw_ms = ~0ull; }));
  EXPECT_FALSE(Case::open(court.terms, ~0ull, 0));
}

}  // namespace
}  // namespace commensal::panel
