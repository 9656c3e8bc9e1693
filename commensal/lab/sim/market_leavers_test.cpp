// SPDX-License-Identifier: Apache-2.0
// Providers that are far away, leave, or come back as somebody else: nobody else's tickets wait for
// theirs, nothing of theirs stays for ever, and nobody gains by leaving.
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;

// A round lasts 100 ms, and a word to the providers takes as long or longer, while the tickets of
// others keep the rounds turning. Nobody else is asked where one is late.
TEST_F(MoneyTrip, ATicketIsNotTooLateForItsRoundHoweverLongTheWay) {
  tries_max_ = 1;
  for (const std::int64_t delay_ms : {60, 150, 400}) {
    SCOPED_TRACE(delay_ms);
    auto market = open(41, 0.1);
    prepare(*market);
    add(*market, "near");
    market->set_delay_ms(delay_ms);
    const std::size_t far = market->add_provider("far");
    ASSERT_TRUE(market->gateway().deposit(market->address_of(far), terms_.provider.stake,
                                          reference("far")));
    market->rest_ms(3'000);
    std::size_t served = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
      const auto answer = market->infer("digits", picture(i), 20'000);
      ASSERT_TRUE(answer) << i << ": " << answer.error().message;
      served += answer->provider == market->address_of(far) ? 1 : 0;
    }
    EXPECT_GT(served, 0u);
    market->rest_ms(20'000);
    EXPECT_EQ(market->gateway().tickets_pending(), 0u);
  }
}

// The gateway's chain gets new heads, of which the later one can be followed from without its past.
// Who has agreed on an older one goes on with it, over absences and restarts.
TEST_F(MoneyTrip, WhoComesLateIsWelcomeHoweverOldTheGatewaysChain) {
  auto market = open(46, 0.25, [](Terms& terms) { terms.gateway.head_rounds_max = 20; });
  prepare(*market);
  const std::size_t a = add(*market, "a");
  const auto work = [&](int requests) {
    for (int i = 0; i < requests; ++i) {
      const auto answer = market->infer("digits", picture(static_cast<std::uint64_t>(i)));
      ASSERT_TRUE(answer) << i << ": " << answer.error().message;
      market->rest_ms(500);
    }
  };
  const auto head_of = [&](std::size_t index) {
    for (const auto& [key, row] : market->gateway().ledger().hash_chains.rows()) {
      if (row.head.owner == market->address_of(index)) return row.head;
    }
    return protocol::HashChainHead();
  };
  work(40);
  EXPECT_EQ(head_of(a).first, 0u);
  const std::size_t b = add(*market, "b");
  EXPECT_GT(head_of(b).first, 40u) << "it begins where the others are";
  market->kill_provider(a);
  work(30);
  market->start_provider(a);
  market->kill_provider(b);
  work(10);
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->start_provider(b);
  market->rest_ms(15'000);
  work(30);
  market->rest_ms(5'000);
  EXPECT_EQ(market->gateway().tickets().awaited(), 0u);
  EXPECT_EQ(market->gateway().tickets().totals().voided, 0u);
  EXPECT_EQ(head_of(a).first, 0u) << "it stays with what was agreed on";
  check(*market, {market->address_of(a), market->address_of(b)});
  const auto sound = market->check_money();
  EXPECT_TRUE(sound) << sound.error().message;
}

class MoneyLeavers : public MoneyTrip {
 protected:
  // A minute after its commitment what is not drawn is asked for.
  static constexpr std::int64_t kAskedMs = 60'000, kAbsenceMs = 70'000;
  static constexpr std::int64_t kLapseMs = kAbsenceMs + 2 * kAskedMs;

  /// Provider "a" has answered and left with its tickets not drawn; "b" is there.
  std::unique_ptr<Market> open_left(std::uint64_t seed) {
    auto market = open(seed, 0.25, [](Terms& terms) {
      terms.gateway.lapse_ms = kLapseMs;
      terms.gateway.rules.absence_delay_ms = kAbsenceMs;
    });
    prepare(*market);
    market->set_disk_ms(0);  // three are answered before their round is drawn
    a_ = add(*market, "a");
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(market->infer("digits", picture(i)));
    market->kill_provider(a_);
    EXPECT_EQ(market->gateway().tickets().awaited(), 3u);
    b_ = add(*market, "b");
    return market;
  }
  /// Others are answered, so that rounds go on.
  static void work(Market& market, std::int64_t ms) {
    for (std::uint64_t i = 0; ms > 0; ++i, ms -= 2'000) {
      const auto answer = market.infer("digits", picture(i % 50));
      ASSERT_TRUE(answer) << answer.error().message;
      market.rest_ms(2'000);
    }
  }
  static std::size_t asked(Market& market) {
    return market.gateway().ledger().demands.rows().size();
  }
  /// Nothing of the tickets of "a" is left to wait for, and a fifth of its stake is gone, once.
  void expect_defaulted(Market& market) {
    EXPECT_EQ(market.gateway().tickets().awaited(), 0u);
    EXPECT_EQ(market.gateway().tickets().totals().voided, 2u);
    EXPECT_EQ(market.gateway().tickets().totals().slashed, 1u);
    EXPECT_EQ(market.money().defaults_of_providers, 1u);
    EXPECT_EQ(market.money().slashed, terms_.provider.stake.low() / 5);
    EXPECT_EQ(market.gateway().ledger().balances.get(ledger::kBurnt),
              Amount(terms_.provider.stake.low() / 10));
  }

  std::size_t a_ = 0, b_ = 0;
};

TEST_F(MoneyLeavers, WhoStaysAwayPaysOnceForItsSilence) {
  auto market = open_left(42);
  work(*market, kAskedMs / 2);
  market->rest_ms(500);
  EXPECT_EQ(market->gateway().tickets().awaited(), 3u);
  EXPECT_EQ(asked(*market), 0u);
  work(*market, kAskedMs);
  market->rest_ms(500);
  EXPECT_EQ(market->gateway().tickets().awaited(), 3u);
  EXPECT_EQ(asked(*market), 1u);
  EXPECT_EQ(market->money().slashed, 0u);
  work(*market, kLapseMs);
  expect_defaulted(*market);
  check(*market, {market->address_of(a_), market->address_of(b_)});
  // It is welcome again with its whole stake, and what it makes from now on counts.
  market->kill_provider(b_);
  market->start_provider(a_);
  ASSERT_TRUE(market->gateway().deposit(
      market->address_of(a_), Amount(terms_.provider.stake.low() / 5), reference("what it lost")));
  market->rest_ms(100);
  work(*market, 10'000);
  EXPECT_EQ(market->gateway().tickets().awaited(), 0u);
  const auto sound = market->check_money();
  EXPECT_TRUE(sound) << sound.error().message;
}

// Nobody else works meanwhile, so that no round is closed any more.
TEST_F(MoneyLeavers, WhoLeavesLastIsAskedToo) {
  auto market = open_left(47);
  market->kill_provider(b_);
  market->rest_ms(kAskedMs + 1'000);
  EXPECT_EQ(asked(*market), 1u);
  market->rest_ms(kLapseMs);
  expect_defaulted(*market);
}

TEST_F(MoneyLeavers, WhatWhoComesBackInTimeHoldsIsDrawn) {
  for (const std::int64_t away_ms : {kAskedMs / 2, kAskedMs + kAbsenceMs / 2}) {
    SCOPED_TRACE(away_ms);
    auto market = open_left(43);
    work(*market, away_ms);
    EXPECT_EQ(asked(*market), away_ms < kAskedMs ? 0u : 1u);
    market->start_provider(a_);
    work(*market, kLapseMs);
    EXPECT_EQ(asked(*market), 0u);
    EXPECT_EQ(market->gateway().tickets().awaited(), 0u);
    EXPECT_EQ(market->gateway().tickets().totals().voided, 0u);
    EXPECT_EQ(market->money().slashed, 0u);
    check(*market, {market->address_of(a_), market->address_of(b_)});
  }
}

// Its stream is not needed: what it shows in the ledger, signed, is drawn as well.
TEST_F(MoneyLeavers, WhoIsCutOffDrawsByAnotherRoute) {
  auto market = open_left(48);
  work(*market, kAskedMs + 4'000);
  ASSERT_EQ(asked(*market), 1u);
  const auto say = [&](std::size_t sender, const ledger::Reveal& reveal) {
    ledger::Transaction made;
    made.ledger = market->gateway().address();
    made.sender = market->address_of(sender);
    made.nonce = market->gateway().ledger().nonces.get(made.sender);
    made.body = reveal;
    ledger::sign(market->key_of(sender), made);
    std::optional<core::Result<crypto::Address>> said;
    market->gateway().transact(made, [&](auto done) { said = std::move(done); });
    market->rest_ms(10);
    return said ? *said : core::fail(core::ErrorCode::kInternal, "nobody has answered");
  };
  const ledger::Reveal reveal = market->reveal_of(a_);
  EXPECT_FALSE(say(b_, reveal)) << "another's";
  // What nobody asks for: far ahead, it would cost as many hashes, and keep a gateway from
  // starting.
  EXPECT_FALSE(say(a_, {reveal.hash_chain, reveal.round + (1 << 13), reveal.value}));
  const auto done = say(a_, reveal);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(asked(*market), 0u);
  EXPECT_EQ(market->gateway().tickets().count(ticket::State::kDrawn), 0u);
  work(*market, kAbsenceMs + kAskedMs);
  EXPECT_EQ(market->money().slashed, 0u);
}

// It cannot draw what it has left: that is as if it did not want to.
TEST_F(MoneyLeavers, WhoComesBackWithAnotherHashChainPaysForTheOldOne) {
  auto market = open_left(44);
  market->lose_chain(a_);
  market->start_provider(a_);
  work(*market, kAskedMs / 2);
  market->rest_ms(500);
  EXPECT_EQ(market->gateway().tickets().awaited(), 3u) << "those of the new chain are drawn";
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(kLapseMs);
  work(*market, kLapseMs);
  expect_defaulted(*market);
  ASSERT_TRUE(ledger::check_all(market->gateway().ledger()));
}

// The fault: who was stopped under load left tickets, and paid a fifth of its stake after three
// days.
TEST_F(MoneyLeavers, WhoStopsInOrderLeavesNothingUndrawn) {
  for (const bool is_in_order : {false, true}) {
    auto market = open(47, 0.25, [](Terms& terms) { terms.gateway.round_ms = 1'000; });
    prepare(*market);
    const std::size_t only = add(*market, "only");
    for (std::uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
    ASSERT_GT(market->left(only), 0u);
    if (is_in_order) {
      market->retire(only);
      market->rest_ms(3'000);
      EXPECT_EQ(market->left(only), 0u);
      EXPECT_FALSE(market->infer("digits", picture(99), 500)) << "no more work";
    }
    market->kill_provider(only);
    market->rest_ms(3'000);
    EXPECT_EQ(market->gateway().tickets().count(ticket::State::kDrawn) > 0, !is_in_order);
  }
}

// A cheat knows what has won before the gateway does. It hangs up then and never comes back: the
// reveal is asked for, and all that it leaves undrawn is audited.
TEST_F(MoneyLeavers, ACheatThatHangsUpWhereAWrongAnswerHasWonLosesByIt) {
  audit_by_risk_ = false;
  constexpr std::uint64_t kSeeds = 12;
  for (std::uint64_t seed = 60; seed < 60 + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open(seed, 0.3, [](Terms& terms) {
      terms.gateway.rules.absence_delay_ms = kAbsenceMs;
      terms.gateway.lapse_ms = kLapseMs;
      terms.gateway.round_ms = 1'000;
    });
    prepare(*market);
    a_ = add(*market, "cheat", make_bf16_cheat());
    market->kill_provider(a_);
    market->hide_winners(a_);
    market->start_provider(a_);
    std::uint64_t answered = 0;
    for (; answered < 60 && market->infer("digits", picture(answered), 1'000); ++answered) {
      market->rest_ms(300);
    }
    ASSERT_LT(answered, 60u) << "nothing has won";
    EXPECT_EQ(market->money().opened, 0u);
    market->kill_provider(a_);
    market->rest_ms(kAskedMs + kLapseMs);
    EXPECT_GT(market->gateway().ledger().accused.get(market->address_of(a_)), 0u);
    EXPECT_EQ(market->money().defaults_of_providers, 1u);
    EXPECT_GE(market->money().slashed, terms_.provider.stake.low() / 5);
  }
}

// A book that is full says so before anybody works, and a share of it is the most of a provider.
TEST_F(MoneyLeavers, NobodyFillsTheBookForOthers) {
  auto market = open(45, 0.25, [](Terms& terms) {
    terms.gateway.tickets_max = 512;
    terms.gateway.round_ms = 1'000'000'000;
  });
  prepare(*market);
  market->set_disk_ms(0);  // nobody waits for an answer
  a_ = add(*market, "a");
  core::Result<gateway::InferResponse> answer;
  for (std::uint64_t i = 0; i < 65 && answer; ++i) answer = market->infer("digits", picture(i), 0);
  ASSERT_FALSE(answer);
  EXPECT_EQ(market->gateway().tickets().awaited(), 64u);
  EXPECT_NE(market->gateway().providers()[0].state.find("has 64 tickets on which nothing is"),
            std::string::npos);
  b_ = add(*market, "b");
  EXPECT_TRUE(market->infer("digits", picture(1)));
}

}  // namespace
}  // namespace commensal::sim
