// SPDX-License-Identifier: Apache-2.0
// A gateway that asks its risk desk how often to audit, on the whole trip in one thread.
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using gateway::AuditState;
using store::testing::Fault;

class MoneyRisk : public MoneyTrip {
 protected:
  static constexpr double kWin = 0.02;
  static constexpr std::uint64_t kSeeds = 200;

  std::unique_ptr<Market> open_by_risk(std::uint64_t seed, double win = kWin, double floor = 0) {
    terms_ = play_terms(win, 100);
    terms_.gateway.hash_chain_depth = 12, terms_.provider.hash_chain_depth = 12;
    gateway::GatewayConfig config;
    config.audit_probability = floor;
    config.audit_by_risk = true;
    config.money = terms_.gateway;
    auto market = std::make_unique<Market>(seed, scratch("money-risk"), config, terms_.provider);
    EXPECT_TRUE(market->start_gateway());
    return market;
  }
  static void serve(Market& market, int requests) {
    for (int i = 0; i < requests; ++i) {
      const auto answer = market.infer("digits", picture(static_cast<std::uint64_t>(i)));
      ASSERT_TRUE(answer) << answer.error().message;
      market.rest_ms(500);
    }
    market.rest_ms(5'000);
  }
  /// All at once; how many of them were answered within the time.
  static int ask_many(Market& market, std::uint64_t requests, std::int64_t ms) {
    const auto answered = std::make_shared<int>(0);
    for (std::uint64_t i = 0; i < requests; ++i) {
      market.ask("digits", picture(i),
                 [answered](const auto& answer) { *answered += answer ? 1 : 0; });
    }
    market.rest_ms(ms);
    return *answered;
  }
  static std::size_t receipts_of(Market& market, const crypto::Address& provider) {
    return market.gateway()
        .receipts()
        .select([&](const auto& record) { return record.receipt.job.provider == provider; })
        ->size();
  }
  static std::size_t audited(Market& market) {
    return market.gateway()
        .receipts()
        .select([](const gateway::ReceiptRecord& record) {
          return record.audit == AuditState::kMatched;
        })
        ->size();
  }
};

TEST_F(MoneyRisk, AnHonestProviderIsAuditedUntilItIsKnownAndOneSeedGivesOneState) {
  const auto run = [&](std::uint64_t seed) {
    auto market = open_by_risk(seed);
    prepare(*market);
    const crypto::Address provider = market->address_of(add(*market, "a"));
    serve(*market, 60);
    const auto infos = market->gateway().providers();
    // c = r = 2000, half of a stake of 1,000,000 lost, an auditor in twenty bought.
    const double inequality = 1.1 * kWin * 100'000 / (0.95 * 500'000);
    EXPECT_NEAR(infos.at(0).audit_probability, inequality, 1e-5);
    EXPECT_GE(audited(*market), 2u);
    EXPECT_LE(audited(*market), 15u);
    const auto said = market->gateway().risk(provider);
    EXPECT_TRUE(said.by_risk);
    EXPECT_EQ(said.audit_probability, infos.at(0).audit_probability);
    return market->state_hash();
  };
  const core::Digest first = run(41);
  EXPECT_EQ(run(41), first);
  EXPECT_NE(run(42), first);
}

// The fault: who was caught before its draw was banned, and took its whole stake along.
TEST_F(MoneyRisk, ACaughtCheatLosesItsStakeWhetherItHasWonOrNot) {
  for (const double win : {0.02, 0.1}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(seed);
      auto market = open_by_risk(100 + seed, win);
      prepare(*market);
      const crypto::Address cheat = market->address_of(add(*market, "cheat", make_bf16_cheat()));
      add(*market, "honest");
      for (std::uint64_t i = 0; i < 60; ++i) {
        (void)market->infer("digits", picture(i));
        market->rest_ms(20);
      }
      market->rest_ms(5'000);
      const auto all = market->gateway().providers();
      const auto found = std::ranges::find(all, cheat, &gateway::ProviderInfo::address);
      ASSERT_NE(found, all.end());
      EXPECT_NE(found->banned, "");
      EXPECT_EQ(balance(*market, cheat, AccountKind::kStake), Amount());
      EXPECT_TRUE(ledger::check_all(market->gateway().ledger()));
    }
  }
}

// The fault: a new key was audited at the floor until the desk was asked, a second later, and had
// as much work as anybody in that time.
TEST_F(MoneyRisk, ANewKeyHasNoMoreUnauditedAnswersThanItsStakeCovers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open_by_risk(400 + seed);
    prepare(*market);
    const crypto::Address cheat = market->address_of(add(*market, "cheat", make_bf16_cheat()));
    ask_many(*market, 40, 2'000);
    // A wrong answer is taken to do 100 times what it earns, 2,000, of a stake of 1,000,000.
    const std::size_t wrong = receipts_of(*market, cheat);
    EXPECT_GE(wrong, 1u);
    EXPECT_LE(wrong, 5u);
    EXPECT_EQ(balance(*market, cheat, AccountKind::kStake), Amount());
  }
}

TEST_F(MoneyRisk, AnHonestNewKeyIsKnownSoonAndServesAllThatWaited) {
  auto market = open_by_risk(450);
  prepare(*market);
  const crypto::Address honest = market->address_of(add(*market, "honest"));
  EXPECT_EQ(ask_many(*market, 40, 2'000), 40);
  EXPECT_EQ(receipts_of(*market, honest), 40u);
  EXPECT_LT(audited(*market), 40u);
}

// The verdict is on disk before the ledger hears of it.
TEST_F(MoneyRisk, AGatewayThatDiesAtAnyWriteTakesTheStakeAllTheSame) {
  int caught = 0;
  for (std::uint64_t write = 0; write < 24; ++write) {
    for (const Fault fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
      SCOPED_TRACE(write);
      auto market = open_by_risk(300, 0.02, 1);
      prepare(*market);
      const crypto::Address cheat = market->address_of(add(*market, "cheat", make_bf16_cheat()));
      market->kill_gateway();
      market->break_gateway_at(write, fault);
      ASSERT_TRUE(market->start_gateway());
      market->rest_ms(15'000);
      (void)market->infer("digits", picture(1), 2'000);
      market->rest_ms(2'000);
      market->kill_gateway();
      ASSERT_TRUE(market->start_gateway());
      market->rest_ms(20'000);  // until it has dialled again, and lost its dispute
      const auto records = market->gateway().receipts().list("", 10);
      ASSERT_TRUE(records);
      if (records->empty() || records->back().audit != AuditState::kMismatched) continue;
      ++caught;
      EXPECT_EQ(balance(*market, cheat, AccountKind::kStake), Amount());
      EXPECT_TRUE(ledger::check_all(market->gateway().ledger()));
    }
  }
  EXPECT_GT(caught, 20);
}

// The ledger hears of the verdict when the winner is opened: nobody audits it again.
TEST_F(MoneyRisk, AWinnerThatWasAuditedBeforeItsDrawIsPaidAtOnce) {
  auto market = open_by_risk(43, 0.5, 1);
  prepare(*market);
  const std::vector<crypto::Address> providers = {market->address_of(add(*market, "a"))};
  serve(*market, 12);
  check(*market, providers);
  const ticket::Totals& totals = market->gateway().tickets().totals();
  EXPECT_EQ(audited(*market), 12u);
  EXPECT_GT(totals.won, 2u);
  EXPECT_EQ(totals.paid, totals.won);
  EXPECT_EQ(market->gateway().tickets_pending(), 0u);
}

}  // namespace
}  // namespace commensal::sim
