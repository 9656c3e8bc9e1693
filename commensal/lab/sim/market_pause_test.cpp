// SPDX-License-Identifier: Apache-2.0
// Providers that pause for their hosts: nothing is lost, and nobody is blamed.
#include <gtest/gtest.h>

#include <commensal/lab/sim/testing/market_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using gateway::AuditState;

constexpr const char* kWhy = "gross loss";

class SimPause : public ::testing::Test {
 protected:
  std::unique_ptr<Market> open(std::uint64_t seed, std::int64_t pause_ms_max = 60'000) {
    gateway::GatewayConfig config;
    config.audit_probability = 1;
    config.pause_ms_max = pause_ms_max;
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    auto market = std::make_unique<Market>(seed, scratch(test->name()), config);
    EXPECT_TRUE(market->start_gateway());
    EXPECT_TRUE(market->push("digits", digits()));
    return market;
  }
  static gateway::ProviderInfo info(Market& market, std::size_t index) {
    for (const auto& one : market.gateway().providers()) {
      if (one.address == market.address_of(index)) return one;
    }
    return {};
  }
  /// Nobody is banned, every answer that was audited was right, and no stream was cut: who is cut
  /// off is not connected for its first 100 ms.
  static void check_peace(Market& market, std::size_t count) {
    const auto records = market.gateway().receipts().select([](const auto&) { return true; });
    ASSERT_TRUE(records);
    for (const auto& record : *records) {
      EXPECT_NE(record.audit, AuditState::kMismatched);
    }
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(info(market, i).banned, "");
      EXPECT_TRUE(info(market, i).connected);
      EXPECT_EQ(market.status_of(i).refused, 0u);
    }
  }
};

TEST_F(SimPause, WhatIsInFlightGoesElsewhereAtOnce) {
  auto market = open(1);
  const std::size_t a = market->add_provider("a");
  const std::size_t b = market->add_provider("b");
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  const std::uint64_t served = info(*market, a).served;
  market->pause(a, kWhy);
  for (std::uint64_t i = 0; i < 6; ++i) {
    // Whichever gets it, the gateway hears of the pause within 100 ms: long before a silence.
    const auto answer = market->infer("digits", picture(i), 500);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->provider, market->address_of(b));
  }
  EXPECT_EQ(info(*market, a).paused, kWhy);
  EXPECT_EQ(info(*market, a).queued, 0u);
  EXPECT_EQ(info(*market, b).paused, "");
  market->rest_ms(60'000);
  check_peace(*market, 2);
  market->pause(a, "");
  market->rest_ms(200);
  EXPECT_EQ(info(*market, a).paused, "");
  EXPECT_EQ(info(*market, a).served, served);  // what was withdrawn is not answered a second time
  EXPECT_EQ(market->status_of(a).queued, 0u);
  for (std::uint64_t i = 0; i < 12; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  EXPECT_GT(info(*market, a).served, served);
  check_peace(*market, 2);
}

TEST_F(SimPause, WaitsForItsProviderWhereThereIsNoOther) {
  auto market = open(2);
  const std::size_t only = market->add_provider("only");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  // The first is in flight when the pause is told, the second comes during one. Both wait longer
  // than a silence may last.
  for (const bool is_told : {false, true}) {
    market->pause(only, kWhy);
    if (is_told) market->rest_ms(200);
    market->pause_later(only, "", 25'000);
    ASSERT_FALSE(market->infer("digits", picture(1), 24'000));
    EXPECT_TRUE(info(*market, only).connected);
    const std::uint64_t served = info(*market, only).served;
    market->rest_ms(1'500);
    EXPECT_EQ(info(*market, only).served, served + 1);
    check_peace(*market, 1);
  }
}

TEST_F(SimPause, GoesOverToWhoeverComesFirst) {
  auto market = open(3);
  const std::size_t a = market->add_provider("a");
  market->pause(a, kWhy);
  ASSERT_FALSE(market->infer("digits", picture(0), 5'000));  // at a
  ASSERT_FALSE(market->infer("digits", picture(1), 5'000));  // at the gateway
  const std::size_t b = market->add_provider("b");
  market->rest_ms(200);
  EXPECT_EQ(info(*market, b).served, 2u);
  EXPECT_EQ(info(*market, a).served, 0u);
  check_peace(*market, 2);
}

TEST_F(SimPause, SaysClearlyThatNobodyWentOn) {
  auto market = open(4, 20'000);
  const std::size_t only = market->add_provider("only");
  market->pause(only, kWhy);
  for (int i = 0; i < 2; ++i) {  // in flight, then during the pause
    const auto answer = market->infer("digits", picture(0), 21'000);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, core::ErrorCode::kUnavailable);
    EXPECT_NE(answer.error().message.find("'only' is paused (gross loss)"), std::string::npos)
        << answer.error().message;
    EXPECT_NE(answer.error().message.find("try again later"), std::string::npos);
  }
  check_peace(*market, 1);
  market->pause(only, "");
  market->rest_ms(200);
  EXPECT_EQ(market->status_of(only).queued, 0u);
  EXPECT_TRUE(market->infer("digits", picture(0)));
}

// A provider that dials while its guest stands still says so in its first word.
TEST_F(SimPause, IsToldWithTheFirstWord) {
  auto market = open(5);
  const std::size_t a = market->add_provider("a");
  market->kill_provider(a);
  market->pause(a, kWhy);
  const std::size_t b = market->add_provider("b");
  market->start_provider(a);
  EXPECT_EQ(info(*market, a).paused, kWhy);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto answer = market->infer("digits", picture(i), 10);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->provider, market->address_of(b));
  }
}

TEST_F(SimPause, TheSameSeedEndsInTheSameState) {
  const auto run = [this](std::uint64_t seed) {
    auto market = open(seed);
    core::CounterRng dice(seed);
    for (const char* name : {"a", "b", "c"}) market->add_provider(name);
    for (std::uint64_t i = 0; i < 40; ++i) {
      // Each pauses for a third of the time, often all together.
      for (std::size_t member = 0; member < 3; ++member) {
        market->pause(member, dice.next_unit() < 0.33 ? kWhy : "");
        market->pause_later(member, "", 15'000);
      }
      const auto answer = market->infer("digits", picture(i));
      EXPECT_TRUE(answer.has_value()) << answer.error().message;
    }
    market->rest_ms(30'000);
    check_peace(*market, 3);
    return market->state_hash();
  };
  const core::Digest first = run(7);
  EXPECT_EQ(run(7), first);
  EXPECT_NE(run(8), first);
}

}  // namespace
}  // namespace commensal::sim
