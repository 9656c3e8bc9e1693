// SPDX-License-Identifier: Apache-2.0
// What happens when somebody keeps silent: a gateway that does not draw, an auditor without a
// verdict, a provider that stays away from its audit.
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using store::testing::Fault;

class MoneyDefaults : public MoneyTrip {
 protected:
  /// Rounds are never closed; three tickets wait for theirs.
  std::unique_ptr<Market> open_withholding(std::uint64_t seed, std::int64_t round_ms) {
    auto market = open(seed, 0.25, [&](Terms& terms) {
      terms.gateway.round_ms = round_ms;
      terms.gateway.rules.reveal_delay_ms = 2'000;
      terms.provider.reveal_ms_max = 5'000;
    });
    prepare(*market);
    gateway::Gateway& live = market->gateway();
    EXPECT_TRUE(live.deposit(live.address(), kPenalties, reference("penalties")));
    EXPECT_TRUE(live.fund(AccountKind::kPenaltyEscrow, kPenalties));
    index_ = add(*market, "a");
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(market->infer("digits", picture(i)));
    return market;
  }
  /// Each ticket's worth, and half of what two and a half penalties leave; the rest is burnt.
  void expect_defaulted(Market& market) {
    const Amount worth =
        ticket::expected_value(terms_.gateway.face_value, *ticket::threshold_of(0.25));
    const ledger::State& state = market.gateway().ledger();
    ASSERT_TRUE(ledger::check_all(state));
    EXPECT_EQ(balance(market, market.address_of(index_), AccountKind::kAvailable),
              *worth.times(Amount(3))->plus(Amount(125'000)));
    EXPECT_EQ(state.balances.get(ledger::kBurnt), Amount(125'000));
    EXPECT_EQ(balance(market, market.gateway().address(), AccountKind::kPenaltyEscrow), Amount());
    EXPECT_EQ(market.money().defaults_of_gateway, 3u);
    const auto sound = market.check_money();
    EXPECT_TRUE(sound) << sound.error().message;
    for (const ticket::Totals& totals :
         {market.gateway().tickets().totals(), market.status_of(index_).tickets}) {
      EXPECT_EQ(totals.paid, 3u);
      EXPECT_EQ(totals.value_paid, *worth.times(Amount(3)));
    }
  }
  static ledger::ClaimStatus status(Market& market) {
    const auto& claims = market.gateway().ledger().claims.rows();
    EXPECT_EQ(claims.size(), 1u);
    return claims.begin()->second.status;
  }

  static constexpr Amount kPenalties = Amount(250'000);
  std::size_t index_ = 0;
};

TEST_F(MoneyDefaults, AGatewayThatDoesNotDrawPaysWhatItsTicketsWereWorthAndMore) {
  auto market = open_withholding(21, 1'000'000'000);
  market->rest_ms(4'000);
  EXPECT_TRUE(market->gateway().ledger().demands.rows().empty());
  market->rest_ms(3'000);
  EXPECT_EQ(market->gateway().ledger().demands.rows().size(), 1u);
  EXPECT_EQ(market->status_of(index_).tickets.paid, 0u);
  const auto refused = market->infer("digits", picture(9), 1'000);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("has not drawn round 2"), std::string::npos)
      << refused.error().message;
  market->rest_ms(10'000);
  expect_defaulted(*market);
  market->rest_ms(60'000);
  expect_defaulted(*market);
}

TEST_F(MoneyDefaults, AProviderThatDiesInBetweenGetsItAllTheSame) {
  for (const std::int64_t lived_ms : {2'000, 6'000, 8'500, 9'500}) {
    SCOPED_TRACE(lived_ms);
    auto market = open_withholding(22, 1'000'000'000);
    market->rest_ms(lived_ms);
    market->kill_provider(index_);
    market->rest_ms(1'000);
    market->start_provider(index_);
    market->rest_ms(60'000);
    expect_defaulted(*market);
  }
}

TEST_F(MoneyDefaults, AGatewayThatIsOnlySlowDrawsAndPaysNoPenalty) {
  auto market = open_withholding(23, 3'000);
  market->rest_ms(30'000);
  EXPECT_TRUE(market->gateway().ledger().demands.rows().empty());
  EXPECT_EQ(market->gateway().ledger().balances.get(ledger::kBurnt), Amount());
  EXPECT_EQ(market->gateway().tickets_pending(), 0u);
  EXPECT_TRUE(market->infer("digits", picture(9)));
  check(*market, {market->address_of(index_)});
}

TEST_F(MoneyDefaults, AWinnerThatNobodyJudgesIsPaidAfterTheDelay) {
  audit_by_risk_ = false;  // it is audited for having won, no sooner
  auto market = open(24, 1, [](Terms& terms) { terms.gateway.rules.audit_delay_ms = 10'000; });
  prepare(*market);
  index_ = add(*market, "a");
  ASSERT_TRUE(market->infer("digits", picture(1)));
  // The auditor has no model any more, so that it comes to no verdict.
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::filesystem::remove_all(scratch(test->name()) / "gateway" / "models");
  market->rest_ms(9'000);
  EXPECT_EQ(status(*market), ledger::ClaimStatus::kOpen);
  market->rest_ms(3'000);
  EXPECT_EQ(status(*market), ledger::ClaimStatus::kPaid);
  EXPECT_EQ(balance(*market, market->address_of(index_), AccountKind::kAvailable),
            terms_.gateway.face_value);
  EXPECT_EQ(balance(*market, market->gateway().auditor_address(), AccountKind::kAvailable),
            Amount());
  EXPECT_EQ(market->status_of(index_).tickets.paid, 1u);
  EXPECT_EQ(market->money().matured, 1u);
  EXPECT_EQ(market->gateway().tickets_pending(), 0u);
  check(*market, {market->address_of(index_)});
}

// Its gateway has it open, and then neither judges nor pays. The provider says so in the ledger, in
// another life than the one that heard of it.
TEST_F(MoneyDefaults, AWinnerThatItsGatewayForgetsIsPaidByItsProvidersWord) {
  constexpr std::int64_t kAuditMs = 10'000, kSlackMs = 60'000;
  audit_by_risk_ = false;
  auto market = open(27, 1, [&](Terms& terms) { terms.gateway.rules.audit_delay_ms = kAuditMs; });
  prepare(*market);
  index_ = add(*market, "a");
  ASSERT_TRUE(market->infer("digits", picture(1)));
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::filesystem::remove_all(scratch(test->name()) / "gateway" / "models");
  market->rest_ms(1'000);
  ASSERT_EQ(status(*market), ledger::ClaimStatus::kOpen);
  market->kill_gateway();
  market->set_round_ms(1'000'000'000);  // it looks at nothing any more
  ASSERT_TRUE(market->start_gateway());
  market->kill_provider(index_);
  market->start_provider(index_);
  market->rest_ms(kAuditMs + kSlackMs / 2);
  EXPECT_EQ(status(*market), ledger::ClaimStatus::kOpen);
  EXPECT_EQ(market->status_of(index_).unjudged, 0u);
  market->rest_ms(kSlackMs);
  EXPECT_EQ(status(*market), ledger::ClaimStatus::kPaid);
  EXPECT_EQ(balance(*market, market->address_of(index_), AccountKind::kAvailable),
            terms_.gateway.face_value);
  EXPECT_EQ(market->status_of(index_).tickets.paid, 1u);
  EXPECT_EQ(market->money().matured, 1u);
  EXPECT_EQ(market->gateway().tickets().awaited(), 0u);
  check(*market, {market->address_of(index_)});
}

// The gateway dies with the winner open, before the audit; the cheat stays away. It gets nothing
// and its stake stays where it is, until it comes back and answers.
TEST_F(MoneyDefaults, WhoStaysAwayFromItsAuditIsAuditedWithout) {
  int open_winners = 0;
  for (std::uint64_t write = 0; write < 24; ++write) {
    SCOPED_TRACE(write);
    auto market = open(25, 1, [](Terms& terms) { terms.gateway.rules.audit_delay_ms = 10'000; });
    prepare(*market);
    index_ = add(*market, "cheat", make_bf16_cheat());
    market->kill_gateway();
    market->break_gateway_at(write, Fault::kCrashAfter);
    ASSERT_TRUE(market->start_gateway());
    market->rest_ms(15'000);
    (void)market->infer("digits", picture(1), 2'000);
    market->rest_ms(300);
    market->kill_provider(index_);
    market->kill_gateway();
    ASSERT_TRUE(market->start_gateway());
    const auto& claims = market->gateway().ledger().claims.rows();
    if (claims.empty() || status(*market) != ledger::ClaimStatus::kOpen) continue;
    ++open_winners;
    market->rest_ms(200'000);
    EXPECT_EQ(status(*market), ledger::ClaimStatus::kOpen);
    EXPECT_EQ(market->money().matured, 0u);
    EXPECT_EQ(market->gateway().ledger().accused.get(market->address_of(index_)), 1u);
    market->start_provider(index_);
    market->rest_ms(12'000);
    EXPECT_EQ(status(*market), ledger::ClaimStatus::kRefused);
    EXPECT_EQ(balance(*market, market->address_of(index_), AccountKind::kStake), Amount());
    check(*market, {market->address_of(index_)});
  }
  EXPECT_GT(open_winners, 0);
}

// The ledger, or the ban, cannot be written when the verdict is there.
TEST_F(MoneyDefaults, WhoIsCaughtIsBannedThoughTheLedgerFails) {
  int caught = 0;
  for (std::uint64_t write = 0; write < 24; ++write) {
    SCOPED_TRACE(write);
    auto market = open(26, 1);
    prepare(*market);
    index_ = add(*market, "cheat", make_bf16_cheat());
    market->kill_gateway();
    market->break_gateway_at(write, Fault::kFailBefore);
    ASSERT_TRUE(market->start_gateway());
    market->rest_ms(15'000);
    (void)market->infer("digits", picture(1), 2'000);
    market->rest_ms(5'000);
    const auto records = market->gateway().receipts().list("", 10);
    if (!records || records->empty() || records->back().audit != gateway::AuditState::kMismatched) {
      continue;
    }
    const auto infos = market->gateway().providers();
    const auto cheat =
        std::ranges::find(infos, market->address_of(index_), &gateway::ProviderInfo::address);
    ASSERT_NE(cheat, infos.end());
    EXPECT_NE(cheat->banned, "");
    ++caught;
  }
  EXPECT_GT(caught, 3);
}

}  // namespace
}  // namespace commensal::sim
