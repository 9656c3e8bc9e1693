// SPDX-License-Identifier: Apache-2.0
// Weights that leave providers (market_release_test.cpp) where answers can be disputed, and where
// statements of privacy classes end.
#include <gmock/gmock.h>

#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/private_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ::testing::ElementsAre;

constexpr std::int64_t kMinute = 60'000, kHour = 60 * kMinute;

class PrivateRelease : public PrivateMarket {};

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

// Not while it is accused: without the model it could not contest. And the file stays as long as
// anybody may dispute what it has signed; then it goes, though no gateway hears of it.
TEST_F(PrivateRelease, WhoIsConvictedIsAskedBeforeItIsDismissedAndTurnedAway) {
  audit_probability_ = 1;
  auto market = open(73, 0.5);
  prepare(*market);
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  core::Bytes own = digits();
  own.insert(own.end(), {0x12, 1, 'x'});  // a producer's name
  ASSERT_TRUE(market->push("own", own,
                           {.is_private = true, .allowed_providers = {market->address_of(cheat)}}));
  const auto heard = hear_of_ends(*market);
  ASSERT_TRUE(market->infer("own", picture(0)));
  bool was_accused = false;
  for (int i = 0; i < 500 && heard->empty(); ++i) {
    const auto rows = cases_of(*market);
    was_accused = was_accused || (!rows.empty() && is_pending(rows[0].status));
    market->rest_ms(10);
  }
  EXPECT_TRUE(was_accused);
  ASSERT_EQ(cases_of(*market).size(), 1u);
  EXPECT_EQ(cases_of(*market)[0].status, ledger::CaseStatus::kConvicted);
  market->rest_ms(10'000);
  EXPECT_THAT(*heard, ElementsAre("0 lets go of 1", "0 is dismissed"));
  EXPECT_EQ(files("cheat"), 1u);
  market->kill_provider(cheat);
  market->start_provider(cheat);
  market->rest_ms(10'000);
  EXPECT_THAT(*heard,
              ElementsAre("0 lets go of 1", "0 is dismissed", "0 lets go of 1", "0 is dismissed"));
  EXPECT_EQ(files("cheat"), 1u);
  market->rest_ms(10 * 24 * kHour);
  EXPECT_EQ(files("cheat"), 0u);
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
