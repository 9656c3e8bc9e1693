// SPDX-License-Identifier: Apache-2.0
// Weights leave providers once their gateway lets go of them: of a model that was deleted, or that
// a provider may not have any more or does not need; whoever is away or killed, and when.
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/lab/sim/testing/private_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using store::testing::Fault;

constexpr std::int64_t kMinute = 60'000, kHour = 60 * kMinute;

/// Without money: nothing can be disputed.
class MarketRelease : public ::testing::Test {
 protected:
  static core::Path folder() {
    return scratch(::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  std::unique_ptr<Market> open(std::uint64_t seed) {
    auto market = std::make_unique<Market>(seed, folder());
    EXPECT_TRUE(market->start_gateway());
    for (const char* const name : {"a", "b"}) market->add_provider(name);
    market->rest_ms(10);
    EXPECT_TRUE(push(*market));
    return market;
  }
  static bool push(Market& market) {
    return bool(market.push(
        "digits", digits(),
        {.is_private = true, .allowed_providers = {market.address_of(0), market.address_of(1)}}));
  }
  /// Until both have it.
  static void use(Market& market) {
    for (std::uint64_t i = 0; i < 20; ++i) (void)market.infer("digits", picture(i));
  }
  static std::size_t files(const std::string& provider) {
    std::error_code missing;
    const std::filesystem::directory_iterator at(folder() / provider / "models", missing), end;
    return missing ? 0 : static_cast<std::size_t>(std::distance(at, end));
  }
  static std::size_t holders(Market& market) { return market.gateway().holders().rows().size(); }
  static void remove(Market& market) {
    EXPECT_TRUE(market.gateway().hub().remove(kConsumer, "consumer/digits"));
  }
};

TEST_F(MarketRelease, ADeletedModelLeavesAllAtOnce) {
  auto market = open(61);
  use(*market);
  ASSERT_EQ(files("a") + files("b"), 2u);
  ASSERT_EQ(holders(*market), 2u);
  remove(*market);
  market->rest_ms(1'000);
  EXPECT_EQ(files("a") + files("b"), 0u);
  EXPECT_EQ(holders(*market), 0u);
  ASSERT_TRUE(push(*market));
  EXPECT_TRUE(market->infer("digits", picture(1))) << "it can come again";
}

TEST_F(MarketRelease, WhoIsOffTheListLosesItAndNobodyElse) {
  auto market = open(62);
  use(*market);
  ASSERT_TRUE(market->gateway().hub().allow(kConsumer, "consumer/digits", {market->address_of(1)}));
  market->rest_ms(1'000);
  EXPECT_EQ(files("a"), 0u);
  EXPECT_EQ(files("b"), 1u);
  ASSERT_EQ(holders(*market), 1u);
  EXPECT_EQ(market->gateway().holders().rows().begin()->first.provider, market->address_of(1));
}

TEST_F(MarketRelease, WhoWasAwayHearsOfItWhenItIsBackAndIsShownAsHavingItUntilThen) {
  auto market = open(63);
  use(*market);
  market->kill_provider(0);
  market->rest_ms(1'000);
  remove(*market);
  market->rest_ms(kMinute);
  EXPECT_EQ(files("a"), 1u);
  EXPECT_EQ(files("b"), 0u);
  ASSERT_EQ(holders(*market), 1u);
  EXPECT_EQ(market->gateway().holders().rows().begin()->second.holder.model, "consumer/digits");
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  ASSERT_EQ(holders(*market), 1u);
  market->start_provider(0);
  market->rest_ms(kMinute);
  EXPECT_EQ(files("a"), 0u);
  EXPECT_EQ(holders(*market), 0u);
}

TEST_F(MarketRelease, PrivateWeightsGoWhereTheyAreNotUsedForADay) {
  auto market = open(64);
  ASSERT_TRUE(market->push("open", *core::read_file(kLetters)));
  use(*market);
  market->rest_ms(limits::kPrivateIdleMs - 2 * kHour);
  EXPECT_EQ(holders(*market), 2u);
  use(*market);
  market->rest_ms(limits::kPrivateIdleMs - 2 * kHour);
  EXPECT_EQ(files("a") + files("b"), 2u);
  market->rest_ms(3 * kHour);
  EXPECT_EQ(files("a") + files("b"), 0u);
  EXPECT_TRUE(market->infer("digits", picture(1)));
}

// Either side may be killed before or after any of its writes: in the end the weights are gone, and
// that is known.
TEST_F(MarketRelease, ItIsDoneWhicheverWriteAKillMeets) {
  const auto finish = [&](Market& market) {
    for (int rounds = 0; rounds < 8; ++rounds) {
      if (market.gateway_crashed()) {
        market.kill_gateway();
        ASSERT_TRUE(market.start_gateway());
      }
      if (market.gateway().hub().find(&kConsumer, "consumer/digits"))
        (void)market.gateway().hub().remove(kConsumer, "consumer/digits");
      market.rest_ms(20'000);
    }
    EXPECT_EQ(files("a") + files("b"), 0u);
    EXPECT_EQ(holders(market), 0u);
  };
  for (const Fault fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
    for (std::uint64_t write = 1; write <= 8; ++write) {
      SCOPED_TRACE(fmt::format("gateway, write {}", write));
      auto market = open(65 + write);
      use(*market);
      market->kill_gateway();
      market->break_gateway_at(write, fault);
      if (!market->start_gateway()) {
        market->kill_gateway();
        ASSERT_TRUE(market->start_gateway());
      }
      market->rest_ms(15'000);
      if (!market->gateway_crashed()) (void)market->infer("digits", picture(30), 5'000);
      if (!market->gateway_crashed())
        (void)market->gateway().hub().remove(kConsumer, "consumer/digits");
      market->rest_ms(1'000);
      finish(*market);
    }
    for (std::uint64_t write = 1; write <= 6; ++write) {
      SCOPED_TRACE(fmt::format("provider, write {}", write));
      auto market = open(85 + write);
      market->kill_provider(0);
      market->break_provider_at(0, write, fault);
      market->start_provider(0);
      market->rest_ms(100);
      use(*market);
      remove(*market);
      market->rest_ms(5'000);
      market->kill_provider(0);
      market->start_provider(0);
      market->rest_ms(100);
      finish(*market);
    }
  }
}

class PrivateRelease : public PrivateMarket {
 protected:
  static std::size_t files(const std::string& provider) {
    const core::Path folder =
        scratch(::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::error_code missing;
    const std::filesystem::directory_iterator at(folder / provider / "models", missing), end;
    return missing ? 0 : static_cast<std::size_t>(std::distance(at, end));
  }
};

// What it has signed it may have to defend, and for that it needs the model.
TEST_F(PrivateRelease, WithMoneyItStaysAsLongAsWhatWasSignedMayBeDisputed) {
  auto market = open(71, 0.5);
  prepare(*market);
  add(*market, "honest");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->rest_ms(1'000);
  ASSERT_EQ(market->gateway().holders().rows().size(), 1u);
  ASSERT_TRUE(market->gateway().hub().remove(kConsumer, "consumer/digits"));
  market->rest_ms(1'000);
  EXPECT_EQ(files("honest"), 1u);
  ASSERT_EQ(market->gateway().holders().rows().size(), 1u);
  const gateway::Holder held = market->gateway().holders().rows().begin()->second.holder;
  ASSERT_GT(static_cast<std::int64_t>(held.until_ms), market->clock().wall_ms());
  const std::int64_t wait_ms = static_cast<std::int64_t>(held.until_ms) - market->clock().wall_ms();
  market->rest_ms(wait_ms + 2 * kMinute);
  EXPECT_EQ(files("honest"), 0u);
  EXPECT_EQ(market->gateway().holders().rows().size(), 0u);
}

TEST_F(PrivateRelease, ItGoesWithTheLastStatementOfItsClass) {
  gateway::GatewayConfig config;
  config.privacy_auditors = privacy_auditors_;
  const auto market = std::make_unique<Market>(
      72, scratch(::testing::UnitTest::GetInstance()->current_test_info()->name()), config);
  ASSERT_TRUE(market->start_gateway());
  const std::size_t index = market->add_provider("honest");
  market->rest_ms(100);
  const std::int64_t until_ms = market->clock().wall_ms() + 2 * kHour;
  vouch(*market, index, until_ms);
  ASSERT_TRUE(market->push("digits", digits(),
                           {.is_private = true,
                            .allowed_providers = {market->address_of(index)},
                            .privacy_class = "medical"}));
  market->rest_ms(10'000);
  const auto answer = market->infer("digits", picture(0));
  ASSERT_TRUE(answer) << answer.error().message;
  market->rest_ms(kHour);
  EXPECT_EQ(files("honest"), 1u);
  market->rest_ms(kHour + 2 * kMinute);
  EXPECT_EQ(files("honest"), 0u);
  EXPECT_EQ(market->gateway().holders().rows().size(), 0u);
}

}  // namespace
}  // namespace commensal::sim
