// SPDX-License-Identifier: Apache-2.0
// What a provider's stake makes good of its rollouts, on the terms that a gateway starts with:
// whoever fakes steps loses more than it gains, though audits come late.
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/lab/sim/testing/rollout_fixture.hpp>
#include <set>

namespace commensal::sim {
namespace {

using namespace testing;

class MoneyRolloutStakes : public MoneyRollouts {
 protected:
  static constexpr std::uint64_t kSeeds = 20, kSteps = 400;
  /// Of a step, at most what it costs.
  static constexpr double kPay = 10'000;

  void SetUp() override { audit_probability_ = 0.1; }
  std::unique_ptr<Market> open_shipped(std::uint64_t seed) {
    return open(seed, 0.1, [](Terms& terms) {
      EXPECT_EQ(terms.gateway.price, Amount(12'000));
      terms.gateway.checkpoint_entries = limits::kCheckpointEntries;
    });
  }
  /// Until the rollout is over. An auditor elsewhere takes every audit and says nothing: each waits
  /// until the gateway makes it itself.
  static RolloutStatus drive_slowly(Market& market, const gateway::RolloutRequest& request) {
    const auto made = market.gateway().rollouts().create(request);
    EXPECT_TRUE(made) << made.error().message;
    for (int i = 0; made && i < 60'000; ++i) {
      while (*market.gateway().take_audit(crypto::Address{{7}}, true)) continue;
      market.rest_ms(100);
      const RolloutStatus now = *market.gateway().rollouts().status(made->entry.id);
      if (now.entry.state != RolloutState::kRunning && now.audits.open.empty()) return now;
    }
    ADD_FAILURE() << "no end";
    return {};
  }
  double stake(Market& market, std::size_t index) {
    return static_cast<double>(
        balance(market, market.address_of(index), AccountKind::kStake).low());
  }
};

// The fault: of n steps all could be faked for one stake, before the first was looked at.
TEST_F(MoneyRolloutStakes, WhoFakesStepsFromSomeOneOnLosesMoreThanItGains) {
  double gained = 0, lost = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open_shipped(100 + seed);
    prepare_letters(*market);
    const std::uint64_t first = 2 + 3 * seed;
    serial::Lies lies;
    for (std::uint64_t step = first; step <= kSteps; ++step) lies[step] = "gates";
    const std::size_t cheat = add(*market, "cheat", make_rollout_cheat(std::move(lies)));
    const double before = stake(*market, cheat);
    const RolloutStatus status = drive_slowly(*market, letters(kSteps, 16, 0.01));
    EXPECT_EQ(status.entry.state, RolloutState::kCaught);
    market->rest_ms(60'000);
    const double faked =
        static_cast<double>(status.entry.steps_done) - static_cast<double>(first) + 1;
    gained += std::max(faked, 0.0) * kPay, lost += before - stake(*market, cheat);
  }
  std::printf("gained %.0f at most, lost %.0f\n", gained, lost);
  EXPECT_GT(lost, gained);
}

TEST_F(MoneyRolloutStakes, AnHonestOneIsNeverAccused) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open_shipped(200 + seed);
    prepare_letters(*market);
    const std::size_t honest = add(*market, "honest");
    const RolloutStatus status = drive_slowly(*market, letters(60, 16, 0.01));
    EXPECT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
    EXPECT_EQ(status.entry.steps_done, 60u);
    EXPECT_TRUE(status.audits.mismatches.empty());
    EXPECT_GT(status.audits.matched, 0u);
    EXPECT_TRUE(market->gateway().ledger().cases.rows().empty());
    EXPECT_EQ(stake(*market, honest), static_cast<double>(terms_.provider.stake.low()));
  }
}

// Without noise one false step may lead to where all later ones cost nothing.
TEST_F(MoneyRolloutStakes, WhereOneStepMaySpoilAllMoreOfThemAreAudited) {
  auto market = open_shipped(300);
  prepare_letters(*market);
  add(*market, "honest");
  const RolloutStatus moved = drive(*market, letters(60, 16, 0.01));
  gateway::RolloutRequest request = letters(60, {}, 0.01);
  request.key = "two";
  const RolloutStatus still = drive(*market, request);
  EXPECT_EQ(moved.entry.state, RolloutState::kFinished) << moved.entry.reason;
  EXPECT_EQ(still.entry.state, RolloutState::kFinished) << still.entry.reason;
  EXPECT_LT(moved.entry.audit_probability, 0.1);
  EXPECT_EQ(still.entry.audit_probability, 1);
  EXPECT_EQ(still.audits.matched, 60u);
}

TEST_F(MoneyRolloutStakes, RolloutsOfOneProviderTakeTurnsWhereItsStakeHoldsThemUp) {
  auto market = open_shipped(301);
  prepare_letters(*market);
  const crypto::Address provider = market->address_of(add(*market, "honest"));
  std::vector<core::Digest> made;
  for (const char* key : {"one", "two", "three", "four"}) {
    gateway::RolloutRequest request = letters(20, {}, 1);
    request.key = key;
    const auto status = market->gateway().rollouts().create(request);
    ASSERT_TRUE(status) << status.error().message;
    made.push_back(status->entry.id);
  }
  const auto done = [&](const core::Digest& id) {
    return market->gateway().rollouts().status(id)->entry.steps_done;
  };
  std::uint64_t apart = 0;
  std::set<std::string> told;
  for (int i = 0; i < 100 && done(made[0]) < 10; ++i) {
    market->rest_ms(1);
    const auto [least, most] = std::ranges::minmax(made, {}, done);
    apart = std::max(apart, done(most) - done(least));
    for (const core::Digest& id : made) {
      const std::string why = market->gateway().rollouts().status(id)->entry.reason;
      if (why.find("stake") != std::string::npos) told.insert(why);
    }
  }
  EXPECT_LE(apart, 3u);
  ASSERT_EQ(told.size(), 1u) << "an ordinary wait is one and the same";
  EXPECT_TRUE(told.begin()->starts_with("its provider's stake covers ")) << *told.begin();
  EXPECT_EQ(told.begin()->find(" 1 steps"), std::string::npos) << *told.begin();
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(60'000);
  for (const core::Digest& id : made) EXPECT_EQ(done(id), 20u);
  check(*market, {provider});
}

}  // namespace
}  // namespace commensal::sim
