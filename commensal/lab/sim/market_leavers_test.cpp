// SPDX-License-Identifier: Apache-2.0
// Providers that are far away, leave, or come back as somebody else: nobody else's tickets wait for
// theirs, and nothing of theirs stays for ever.
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
  static constexpr std::int64_t kLapseMs = 60'000;

  /// Provider "a" has answered and left with its tickets not drawn; "b" is there.
  std::unique_ptr<Market> open_left(std::uint64_t seed) {
    auto market = open(seed, 0.25, [](Terms& terms) { terms.gateway.lapse_ms = kLapseMs; });
    prepare(*market);
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
  /// Nothing of the tickets of "a" is left to wait for, and nothing was taken from it.
  void expect_lapsed(Market& market) {
    EXPECT_EQ(market.gateway().tickets().awaited(), 0u);
    EXPECT_EQ(market.gateway().tickets().totals().voided, 3u);
    EXPECT_EQ(balance(market, market.address_of(a_), AccountKind::kStake), terms_.provider.stake);
    check(market, {market.address_of(a_), market.address_of(b_)});
  }

  std::size_t a_ = 0, b_ = 0;
};

TEST_F(MoneyLeavers, WhatWhoHasLeftHoldsIsVoidInTheEnd) {
  auto market = open_left(42);
  work(*market, kLapseMs / 2);
  market->rest_ms(500);
  EXPECT_EQ(market->gateway().tickets().awaited(), 3u);
  EXPECT_TRUE(market->gateway().ledger().demands.rows().empty());
  work(*market, kLapseMs);
  expect_lapsed(*market);
  // It is welcome again, and what it makes from now on counts.
  market->kill_provider(b_);
  market->start_provider(a_);
  work(*market, 10'000);
  EXPECT_EQ(market->gateway().tickets().awaited(), 0u);
  const auto sound = market->check_money();
  EXPECT_TRUE(sound) << sound.error().message;
}

TEST_F(MoneyLeavers, WhatWhoComesBackInTimeHoldsIsDrawn) {
  auto market = open_left(43);
  work(*market, kLapseMs / 2);
  market->start_provider(a_);
  work(*market, kLapseMs);
  EXPECT_EQ(market->gateway().tickets().awaited(), 0u);
  EXPECT_EQ(market->gateway().tickets().totals().voided, 0u);
  check(*market, {market->address_of(a_), market->address_of(b_)});
}

TEST_F(MoneyLeavers, WhoComesBackWithAnotherHashChainLeavesNothingForEver) {
  auto market = open_left(44);
  market->kill_provider(b_);
  market->lose_chain(a_);
  market->start_provider(a_);
  work(*market, kLapseMs / 2);
  market->rest_ms(500);
  EXPECT_EQ(market->gateway().tickets().awaited(), 3u) << "those of the new chain are drawn";
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(kLapseMs);
  work(*market, kLapseMs);
  expect_lapsed(*market);
}

// A book that is full says so before anybody works, and a share of it is the most of a provider.
TEST_F(MoneyLeavers, NobodyFillsTheBookForOthers) {
  auto market = open(45, 0.25, [](Terms& terms) {
    terms.gateway.tickets_max = 512;
    terms.gateway.round_ms = 1'000'000'000;
  });
  prepare(*market);
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
