// SPDX-License-Identifier: Apache-2.0
// Money on the whole trip, in one thread: what winners earn, what a cheat loses, and a crash at
// every write of either side.
#include <algorithm>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>
#include <set>

namespace commensal::sim {
namespace {

using namespace testing;
using store::testing::Fault;

TEST_F(MoneyTrip, WinnersArePaidACheatLosesItsStakeAndNothingIsLost) {
  auto market = open(11, 0.3);
  prepare(*market);
  const std::vector<crypto::Address> providers = {
      market->address_of(add(*market, "a")), market->address_of(add(*market, "b")),
      market->address_of(add(*market, "cheat", make_bf16_cheat()))};
  int answered = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto answer = market->infer("digits", picture(i));
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    ++answered;
    market->rest_ms(30);
    check(*market, providers);
  }
  market->rest_ms(5'000);
  check(*market, providers);
  EXPECT_EQ(market->gateway().tickets_pending(), 0u);
  const ticket::Totals& totals = market->gateway().tickets().totals();
  EXPECT_GT(totals.paid, 5u);
  EXPECT_GT(totals.slashed, 0u);
  EXPECT_EQ(balance(*market, providers[2], AccountKind::kStake), Amount());
  EXPECT_EQ(balance(*market, providers[2], AccountKind::kAvailable), Amount());
  EXPECT_EQ(balance(*market, providers[0], AccountKind::kStake), terms_.provider.stake);
  EXPECT_GT(market->gateway().ledger().balances.get(ledger::kBurnt), Amount());
  const Amount spent = *terms_.gateway.price.times(Amount(static_cast<std::uint64_t>(answered)));
  EXPECT_EQ(
      balance(*market, market->gateway().account_address("consumer"), AccountKind::kAvailable),
      *terms_.consumer_deposit.minus(spent));
}

TEST_F(MoneyTrip, WhoHasNoMoneyNoStakeOrNoEscrowIsToldSo) {
  auto market = open(12, 0.3);
  ASSERT_TRUE(market->push("digits", digits()));
  market->add_provider("poor");
  auto refused = market->infer("digits", picture(0), 1'000);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("escrow"), std::string::npos) << refused.error().message;
  gateway::Gateway& live = market->gateway();
  EXPECT_EQ(live.why_not_ready(nullptr), refused.error().message);
  ASSERT_TRUE(live.deposit(live.address(), terms_.gateway_escrow, reference("gateway")));
  ASSERT_TRUE(live.fund(AccountKind::kEscrow, terms_.gateway_escrow));
  refused = market->infer("digits", picture(0), 1'000);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("account 'consumer' can't pay 34000"), std::string::npos)
      << refused.error().message;
  ASSERT_TRUE(live.deposit(live.account_address("consumer"), terms_.consumer_deposit,
                           reference("consumer")));
  refused = market->infer("digits", picture(0), 1'000);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("has a stake of 0, 1000000 are wanted"), std::string::npos)
      << refused.error().message;
  const auto model = live.hub().find(nullptr, "consumer/digits", 0);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(live.why_not_ready(&*model), refused.error().message);
}

TEST_F(MoneyTrip, AProviderThatWantsPayDoesNotWorkForNothing) {
  auto market = open(18, 0.3, [](Terms& terms) {
    terms.gateway.face_value = terms.gateway.price = terms.gateway.stake_min = Amount();
    terms.provider.stake = Amount();
    terms.provider.pay_min = Amount(5);
  });
  ASSERT_TRUE(market->push("digits", digits()));
  market->add_provider("wants pay");
  const auto refused = market->infer("digits", picture(0), 1'000);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the gateway pays nothing, expected at least 5"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(MoneyTrip, AProviderWorksWhereTheEscrowsCoverWhatMayWin) {
  auto market = open(19, 0.5, [](Terms& terms) { terms.provider.wants_penalty_cover = true; });
  prepare(*market);
  const std::size_t index = add(*market, "a");
  const auto refused = market->infer("digits", picture(0), 1'000);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the gateway's penalty escrow of 0 does not cover 202000, "
                                         "twice what 1 ticket(s) may win"),
            std::string::npos)
      << refused.error().message;
  gateway::Gateway& live = market->gateway();
  ASSERT_TRUE(live.deposit(live.address(), Amount(2'000'000), reference("penalties")));
  ASSERT_TRUE(live.fund(AccountKind::kPenaltyEscrow, Amount(2'000'000)));
  const auto known = [&] { return *market->status_of(index).balance; };
  market->rest_ms(0);
  EXPECT_EQ(known().penalty_escrow, Amount(2'000'000)) << "told at once";
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto answer = market->infer("digits", picture(i));
    ASSERT_TRUE(answer) << answer.error().message;
  }
  EXPECT_GT(live.tickets().awaited(), 0u);
  market->rest_ms(30'000);
  EXPECT_EQ(live.tickets().awaited(), 0u);
  EXPECT_EQ(known().owed, 0u);
  EXPECT_EQ(known().escrow, balance(*market, live.address(), AccountKind::kEscrow));
}

TEST_F(MoneyTrip, AProviderHasOnlyItsOwnAffairsBooked) {
  constexpr rpc::GatewayPort::StreamId kFirst = 1;
  auto market = open(18, 1);
  prepare(*market);
  const std::size_t index = add(*market, "a");
  const auto entries = [&] { return market->gateway().ledger().scalars.entries; };
  const auto sends = [&](std::size_t signer, std::size_t sender, ledger::Body body) {
    ledger::Transaction made;
    made.ledger = market->gateway().address();
    made.sender = market->address_of(sender);
    made.nonce = market->gateway().ledger().nonces.get(made.sender);
    made.body = std::move(body);
    ledger::sign(market->key_of(signer), made);
    const std::uint64_t before = entries();
    market->gateway().on_message(kFirst, rpc::Transact{protocol::encode(made)});
    return entries() - before;
  };
  ASSERT_TRUE(market->gateway().deposit(market->address_of(index), Amount(9), reference("more")));
  // The ledger itself has nothing against it: a claim would be as welcome, delivered or not.
  const ledger::Debit debit{market->address_of(index),
                            market->gateway().address(),
                            AccountKind::kAvailable,
                            Amount(9),
                            {},
                            {}};
  EXPECT_EQ(sends(index, index, debit), 0u);
  const std::size_t other = add(*market, "b");
  const ledger::AnnounceWithdrawal announced{AccountKind::kStake, Amount(7)};
  EXPECT_EQ(sends(other, other, announced), 0u) << "over another's stream";
  EXPECT_EQ(sends(index, index, announced), 1u);
}

TEST_F(MoneyTrip, AProviderThatComesBackKnowsItsTickets) {
  auto market = open(15, 0.5);
  prepare(*market);
  const std::size_t index = add(*market, "a");
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  // Between its commitment and the draw: its winners are claimed in its next life.
  market->kill_provider(index);
  market->start_provider(index);
  EXPECT_EQ(market->status_of(index).tickets.issued, 8u);
  market->rest_ms(60'000);
  const ticket::Totals& owed = market->gateway().tickets().totals();
  EXPECT_GT(owed.paid, 0u);
  EXPECT_EQ(market->status_of(index).tickets.paid, owed.paid);
  EXPECT_EQ(market->status_of(index).tickets.value_paid, owed.value_paid);
}

// Rounds go on while tickets wait; who comes back has to know how far they are.
TEST_F(MoneyTrip, RequestsGoOnAfterRestartsManyRoundsLater) {
  auto market = open(16, 0.5);
  prepare(*market);
  const std::size_t index = add(*market, "a");
  for (int lives = 0; lives < 3; ++lives) {
    for (std::uint64_t i = 0; i < 10; ++i) {
      const auto answer = market->infer("digits", picture(i));
      ASSERT_TRUE(answer) << answer.error().message;
      market->rest_ms(3'000);
    }
    if (lives % 2 == 0) {
      market->kill_provider(index);
      market->start_provider(index);
    } else {
      market->kill_gateway();
      ASSERT_TRUE(market->start_gateway());
    }
    market->rest_ms(15'000);
  }
  const auto answer = market->infer("digits", picture(77));
  EXPECT_TRUE(answer) << answer.error().message;
  check(*market, {market->address_of(index)});
}

TEST_F(MoneyTrip, AGatewayThatDiesAtAnyWritePaysNothingTwice) {
  for (std::uint64_t write = 0; write < 48; write += 1) {
    const Fault fault = write % 2 == 0 ? Fault::kCrashBefore : Fault::kCrashAfter;
    SCOPED_TRACE(write);
    auto market = open(13, 0.5);
    prepare(*market);
    const std::vector<crypto::Address> providers = {market->address_of(add(*market, "a")),
                                                    market->address_of(add(*market, "b"))};
    market->kill_gateway();
    market->break_gateway_at(write, fault);
    ASSERT_TRUE(market->start_gateway());
    market->rest_ms(15'000);  // the providers dial again
    for (std::uint64_t i = 0; i < 12 && !market->gateway_crashed(); ++i) {
      (void)market->infer("digits", picture(i), 15'000);
      market->rest_ms(40);
    }
    market->kill_gateway();
    ASSERT_TRUE(market->start_gateway());
    market->rest_ms(60'000);
    check(*market, providers);
    check_nothing_is_open(*market);
    ASSERT_TRUE(market->infer("digits", picture(77)));
    market->rest_ms(5'000);
    check(*market, providers);
    for (const crypto::Address& address : providers) {
      ASSERT_EQ(balance(*market, address, AccountKind::kStake), terms_.provider.stake);
    }
  }
}

TEST_F(MoneyTrip, WhoHasPaidForAFirstMismatchIsNotBannedByARestart) {
  audit_by_risk_ = false;  // or what it computes again, all alone, is audited without end
  auto market = open(15, 1, [](Terms& terms) {
    terms.gateway.rules.pattern_mismatches = 2, terms.gateway.rules.pardon_matches = 0;
  });
  prepare(*market);
  const std::size_t index = add(*market, "cheat", make_bf16_cheat());
  const auto is_banned = [&] {
    const auto all = market->gateway().providers();
    const auto found =
        std::ranges::find(all, market->address_of(index), &gateway::ProviderInfo::address);
    return found != all.end() && !found->banned.empty();
  };
  const auto penalised = [&] { return market->gateway().tickets().totals().penalised; };
  ASSERT_TRUE(market->infer("digits", picture(0)));
  for (int i = 0; i < 1000 && penalised() == 0; ++i) market->rest_ms(10);
  EXPECT_EQ(penalised(), 1u);
  EXPECT_FALSE(is_banned());
  market->kill_provider(index);  // before what it has answered since is drawn, or audited
  for (int restarts = 0; restarts < 2; ++restarts) {
    market->kill_gateway();
    ASSERT_TRUE(market->start_gateway());
    EXPECT_FALSE(is_banned());
    (void)add(*market, fmt::format("honest {}", restarts));
    market->rest_ms(20'000);  // the answer is computed again
    EXPECT_FALSE(is_banned());
  }
  EXPECT_TRUE(market->gateway().receipts().list("consumer", 10)->back().replaced_by);
}

TEST_F(MoneyTrip, ARequestGoesElsewhereWhenAProviderLeavesOrIsSilent) {
  auto market = open(3, 0.1);
  prepare(*market);
  const std::size_t first = add(*market, "a");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  add(*market, "b");
  market->kill_provider(first);
  market->break_provider_at(first, 0, Fault::kCrashBefore);
  market->start_provider(first);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto answer = market->infer("digits", picture(i));
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_NE(answer->provider, market->address_of(first));
  }
}

TEST_F(MoneyTrip, AProviderThatDiesAtAnyWriteKeepsItsStakeAndItsWinners) {
  audit_probability_ = 1;
  for (std::uint64_t write = 0; write < 16; ++write) {
    for (const Fault fault :
         {Fault::kCrashBefore, Fault::kCrashAfter, Fault::kFailBefore, Fault::kFailAfter}) {
      SCOPED_TRACE(write);
      auto market = open(14, 0.5);
      prepare(*market);
      const std::size_t shaky = add(*market, "shaky");
      const std::vector<crypto::Address> providers = {market->address_of(shaky),
                                                      market->address_of(add(*market, "b"))};
      market->kill_provider(shaky);
      market->break_provider_at(shaky, write, fault);
      market->start_provider(shaky);
      for (std::uint64_t i = 0; i < 12; ++i) {
        ASSERT_TRUE(market->infer("digits", picture(i)));
        market->rest_ms(40);
        if (i != 8) continue;
        market->kill_provider(shaky);
        market->start_provider(shaky);
      }
      market->rest_ms(60'000);
      check(*market, providers);
      EXPECT_EQ(market->gateway().audits_pending(), 0u);
      const auto records = market->gateway().receipts().list("", 100);
      ASSERT_TRUE(records);
      EXPECT_GE(records->size(), 12u);
      for (const auto& record : *records) {
        const auto verified = protocol::verify_receipt(record.receipt);
        ASSERT_TRUE(verified) << verified.error().message;
        ASSERT_TRUE(record.verdict);
        ASSERT_EQ(record.verdict->outcome, protocol::Outcome::kMatch);
      }
      ASSERT_EQ(balance(*market, providers[0], AccountKind::kStake), terms_.provider.stake);
      ASSERT_EQ(balance(*market, providers[1], AccountKind::kStake), terms_.provider.stake);
    }
  }
}

}  // namespace
}  // namespace commensal::sim
