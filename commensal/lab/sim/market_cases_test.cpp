// SPDX-License-Identifier: Apache-2.0
// Accusations between the daemons' own code, in one thread: who is wrong pays, whoever that is, and
// nobody else does, whatever breaks in between.
#include <algorithm>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ledger::CaseStatus;
using store::testing::Fault;

class MoneyCases : public MoneyTrip {
 protected:
  static constexpr std::uint64_t kFramings = 200;
  static constexpr std::int64_t kHourMs = 3'600'000;

  void SetUp() override { audit_probability_ = 1; }

  /// With a gateway that lies where it audits.
  std::unique_ptr<Market> open_framing(std::uint64_t seed) {
    auto market = open(seed, 0.5);
    market->kill_gateway();
    market->set_gateway_engines(make_bf16_cheat);
    EXPECT_TRUE(market->start_gateway());
    prepare(*market);
    return market;
  }
  static std::size_t count(Market& market, CaseStatus status) {
    return static_cast<std::size_t>(
        std::ranges::count(cases_of(market), status, &ledger::CaseRow::status));
  }
  static bool is_banned(Market& market, std::size_t index) {
    const auto all = market.gateway().providers();
    const auto found =
        std::ranges::find(all, market.address_of(index), &gateway::ProviderInfo::address);
    return found != all.end() && !found->banned.empty();
  }
};

TEST_F(MoneyCases, ACheatContestsAndIsConvictedByOneOperation) {
  auto market = open(31, 0.5);
  prepare(*market);
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->rest_ms(5'000);
  const auto rows = cases_of(*market);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].status, CaseStatus::kConvicted);
  EXPECT_EQ(stake(*market, cheat), Amount());
  EXPECT_EQ(market->money().conceded, 0u);
  EXPECT_GT(market->money().moves, 10u);
  EXPECT_TRUE(is_banned(*market, cheat));
  EXPECT_EQ(market->gateway().ledger().balance(market->gateway().address(), AccountKind::kBond),
            Amount());
  const auto sound = market->check_money();
  EXPECT_TRUE(sound) << sound.error().message;
}

// The ledger forgets a dispute's moves with its end.
TEST_F(MoneyCases, WhereADisputeHasEndedIsKept) {
  auto market = open(31, 0.5);
  prepare(*market);
  add(*market, "cheat", make_bf16_cheat());
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->rest_ms(5'000);
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  const auto& rows = market->gateway().ledger().cases.rows();
  ASSERT_EQ(rows.size(), 1u);
  const auto found = market->gateway().dispute_place(rows.begin()->first);
  ASSERT_TRUE(found && *found);
  const cases::Place& place = **found;
  EXPECT_EQ(place.phase, "over");
  EXPECT_GT(place.round, 10u);
  EXPECT_NE(place.verdict.find("the provider was wrong: node "), std::string::npos);
  EXPECT_TRUE(place.accused.is_wrong);
  EXPECT_FALSE(place.accuser.is_wrong);
  EXPECT_NE(place.op, "");
  ASSERT_TRUE(place.node && place.output && place.element && place.operation && place.operations);
  EXPECT_LT(*place.operation, *place.operations);
  EXPECT_NE(place.accused.outputs, place.accuser.outputs);
  EXPECT_NE(place.accused.claimed, place.accuser.claimed);
  EXPECT_EQ(place.computed, place.accuser.claimed);
  EXPECT_FALSE(*market->gateway().dispute_place({core::Digest{1}, {}})) << "no such case";
}

TEST_F(MoneyCases, WhoIsAccusedAndAwayKeepsNothingAndLosesNothingUntilItAnswers) {
  auto market = open(32, 0.5);
  prepare(*market);
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->kill_provider(cheat);
  market->rest_ms(30 * kHourMs);
  ASSERT_EQ(cases_of(*market).size(), 1u);
  EXPECT_EQ(cases_of(*market)[0].status, CaseStatus::kAccused);
  EXPECT_EQ(stake(*market, cheat), terms_.provider.stake);
  EXPECT_EQ(market->gateway().ledger().accused.get(market->address_of(cheat)), 1u);
  market->start_provider(cheat);
  market->rest_ms(10'000);
  EXPECT_EQ(cases_of(*market)[0].status, CaseStatus::kConvicted);
  EXPECT_EQ(stake(*market, cheat), Amount());
}

TEST_F(MoneyCases, AProviderWhoseCardErredConcedes) {
  auto market = open(33, 0.5);
  prepare(*market);
  const std::size_t index = add(*market, "erred", make_bf16_cheat());
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->kill_provider(index);
  market->mend_provider(index);
  market->start_provider(index);
  market->rest_ms(10'000);
  ASSERT_EQ(cases_of(*market).size(), 1u);
  EXPECT_EQ(cases_of(*market)[0].status, CaseStatus::kConvicted);
  EXPECT_EQ(market->money().conceded, 1u);
  EXPECT_EQ(market->money().moves, 0u);
}

TEST_F(MoneyCases, AnHonestProviderThatIsFramedByItsGatewayIsNeverConvicted) {
  std::size_t acquitted = 0;
  for (std::uint64_t seed = 0; seed < kFramings; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open_framing(1000 + seed);
    const std::size_t honest = add(*market, "honest");
    (void)market->infer("digits", picture(seed));
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
    for (const ledger::CaseRow& row : cases_of(*market)) {
      ASSERT_NE(row.status, CaseStatus::kConvicted);
    }
    acquitted += count(*market, CaseStatus::kAcquitted);
    ASSERT_EQ(stake(*market, honest), terms_.provider.stake);
    ASSERT_TRUE(ledger::check_all(market->gateway().ledger()));
  }
  EXPECT_GT(acquitted, kFramings * 3 / 4);
}

TEST_F(MoneyCases, ADisputeGoesOnThoughEitherSideDiesAtAnyWrite) {
  std::map<bool, int> convicted;
  for (std::uint64_t write = 0; write < 60; write += 2) {
    for (const bool is_gateway : {true, false}) {
      SCOPED_TRACE(write);
      auto market = open(34 + write, 0.5);
      prepare(*market);
      const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
      if (is_gateway) {
        market->kill_gateway();
        market->break_gateway_at(write, Fault::kCrashAfter);
        ASSERT_TRUE(market->start_gateway());
        market->rest_ms(15'000);
      }
      (void)market->infer("digits", picture(1), 2'000);
      if (!is_gateway) {
        market->kill_provider(cheat);
        market->break_provider_at(cheat, write, Fault::kCrashAfter);
        market->start_provider(cheat);
      }
      market->rest_ms(2'000);
      if (is_gateway) {
        market->kill_gateway();
        ASSERT_TRUE(market->start_gateway());
      } else {
        market->kill_provider(cheat);
        market->start_provider(cheat);
      }
      market->rest_ms(30'000);
      const auto records = market->gateway().receipts().list("", 10);
      ASSERT_TRUE(records);
      if (records->empty() || records->back().audit != gateway::AuditState::kMismatched) continue;
      ++convicted[is_gateway];
      EXPECT_TRUE(is_banned(*market, cheat));
      // What follows from the conviction has followed, though a kill came in between.
      EXPECT_EQ(market->gateway().tickets().in(ticket::State::kOpened).size(), 0u);
      EXPECT_GT(market->gateway().tickets().totals().slashed, 0u);
      EXPECT_TRUE(ledger::check_all(market->gateway().ledger()));
    }
  }
  EXPECT_GT(convicted[true], 20);
  EXPECT_GT(convicted[false], 20);
}

}  // namespace
}  // namespace commensal::sim
