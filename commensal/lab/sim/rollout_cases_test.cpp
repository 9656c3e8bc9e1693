// SPDX-License-Identifier: Apache-2.0
// Accusations about steps of rollouts between the daemons' own code, in one thread: nobody but the
// two parties is there, and who is wrong pays.
#include <algorithm>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/lab/sim/testing/rollout_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ledger::CaseStatus;
using store::testing::Fault;

class MoneyRolloutCases : public MoneyRollouts {
 protected:
  /// The one case there is, of this step, ended in a proof against its provider.
  void expect_proved(Market& market, std::size_t cheat, std::uint64_t step) {
    const auto rows = cases_of(market);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].dispute.receipt.step, step);
    EXPECT_EQ(rows[0].status, CaseStatus::kConvicted);
    EXPECT_EQ(stake(market, cheat), Amount());
    EXPECT_EQ(market.money().conceded, 0u);
    EXPECT_GT(market.money().moves, 10u);
    EXPECT_TRUE(ledger::check_all(market.gateway().ledger()));
  }
};

TEST_F(MoneyRolloutCases, ACheatIsConvictedByOneOperationOfItsFirstStep) {
  for (const std::optional<int> noise : {std::optional<int>(16), std::optional<int>()}) {
    auto market = open(61, 0.5);
    prepare_letters(*market);
    const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
    EXPECT_EQ(drive(*market, letters(20, noise, 1)).entry.state, RolloutState::kCaught);
    market->rest_ms(5'000);
    expect_proved(*market, cheat, 1);
  }
}

TEST_F(MoneyRolloutCases, OrOfALaterOne) {
  for (const std::optional<int> noise : {std::optional<int>(16), std::optional<int>()}) {
    auto market = open(62, 0.5);
    prepare_letters(*market);
    const std::size_t cheat = add(*market, "cheat", make_rollout_cheat({{7, "gates"}}));
    EXPECT_EQ(drive(*market, letters(20, noise, 1)).entry.state, RolloutState::kCaught);
    market->rest_ms(5'000);
    expect_proved(*market, cheat, 7);
  }
}

TEST_F(MoneyRolloutCases, AnHonestProviderThatIsFramedByItsGatewayIsNeverConvicted) {
  constexpr std::uint64_t kFramings = 60;
  std::size_t acquitted = 0;
  for (std::uint64_t seed = 0; seed < kFramings; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open(2000 + seed, 0.5);
    market->kill_gateway();
    market->set_gateway_engines(make_bf16_cheat);  // it lies where it audits
    ASSERT_TRUE(market->start_gateway());
    prepare_letters(*market);
    const std::size_t honest = add(*market, "honest");
    ASSERT_TRUE(market->gateway().rollouts().create(
        letters(5, seed % 2 == 0 ? std::optional<int>(16) : std::nullopt, 1)));
    // Its link is cut, and it is killed, at some moment of the case; what it computed is gone.
    core::CounterRng dice(seed);
    for (int i = 0; i < 4; ++i) {
      market->rest_ms(static_cast<std::int64_t>(dice.next_u64() % 60));
      if (dice.next_u64() % 2 == 0) {
        market->cut(honest);
      } else {
        market->kill_provider(honest);
        market->start_provider(honest);
      }
    }
    market->rest_ms(60'000);
    const auto rows = cases_of(*market);
    for (const ledger::CaseRow& row : rows) ASSERT_NE(row.status, CaseStatus::kConvicted);
    acquitted += static_cast<std::size_t>(
        std::ranges::count(rows, CaseStatus::kAcquitted, &ledger::CaseRow::status));
    ASSERT_EQ(stake(*market, honest), terms_.provider.stake);
    ASSERT_TRUE(ledger::check_all(market->gateway().ledger()));
  }
  EXPECT_GT(acquitted, kFramings * 3 / 4);
}

TEST_F(MoneyRolloutCases, ADisputeGoesOnThoughEitherSideDiesAtAnyWrite) {
  for (const bool is_gateway : {true, false}) {
    int convicted = 0;
    for (std::uint64_t write = 0; write < 60; write += 2) {
      SCOPED_TRACE(fmt::format("{} {}", is_gateway ? "gateway" : "provider", write));
      auto market = open(64 + write, 0.5);
      prepare_letters(*market);
      const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
      const auto die = [&] {
        if (is_gateway) {
          market->kill_gateway();
          market->break_gateway_at(write, Fault::kCrashAfter);
          (void)market->start_gateway();
        } else {
          market->kill_provider(cheat);
          market->break_provider_at(cheat, write, Fault::kCrashAfter);
          market->start_provider(cheat);
        }
      };
      if (is_gateway) die(), market->rest_ms(15'000);
      (void)market->gateway().rollouts().create(letters(20, 16, 1));
      if (!is_gateway) die();
      market->rest_ms(2'000);
      if (is_gateway) {
        market->kill_gateway();
        ASSERT_TRUE(market->start_gateway());
      } else {
        market->kill_provider(cheat);
        market->start_provider(cheat);
      }
      market->rest_ms(30'000);
      if (market->gateway().rollouts().list("", 1).empty()) continue;
      const auto end = drive(*market, letters(20, 16, 1)).entry;
      // By a step of this one, or before it by another that the crash left behind.
      ASSERT_TRUE(end.state == RolloutState::kCaught ||
                  end.reason.starts_with("its provider was caught"))
          << end.reason;
      market->rest_ms(10'000);
      ASSERT_EQ(stake(*market, cheat), Amount());
      ASSERT_EQ(cases_of(*market).size(), 1u);
      ASSERT_TRUE(ledger::check_all(market->gateway().ledger()));
      ++convicted;
    }
    EXPECT_GT(convicted, 20);
  }
}

// Else its accuser lets go of what it argues with after a restart.
TEST_F(MoneyRolloutCases, WhatIsDisputedMakesNoRoom) {
  rollouts_kept_max_ = 1;
  // Its tickets are decided though it is away.
  auto market = open(66, 0.5, [](Terms& terms) { terms.gateway.rules.absence_delay_ms = 2'000; });
  prepare_letters(*market);
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  ASSERT_TRUE(market->gateway().rollouts().create(letters(3, 16, 1)));
  for (int i = 0; i < 1'000 && cases_of(*market).empty(); ++i) market->rest_ms(1);
  market->kill_provider(cheat);
  market->rest_ms(120'000);
  EXPECT_EQ(market->gateway().tickets_pending(), 0u);
  add(*market, "honest");
  gateway::RolloutRequest request = letters(3, 16, 1);
  request.key = "two";
  const auto refused = market->gateway().rollouts().create(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "1 rollouts are kept, at most 1, and none of them is over");
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->start_provider(cheat);
  market->rest_ms(20'000);
  const auto rows = cases_of(*market);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].status, CaseStatus::kConvicted);
  EXPECT_EQ(stake(*market, cheat), Amount());
  EXPECT_TRUE(market->gateway().rollouts().create(request));
}

}  // namespace
}  // namespace commensal::sim
