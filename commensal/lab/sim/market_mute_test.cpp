// SPDX-License-Identifier: Apache-2.0
// Providers that say hello as who shows statements of privacy, and never show any: they hold up
// nobody's private inputs.
#include <gmock/gmock.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/lab/sim/testing/private_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class MuteProviders : public PrivateMarket {
 protected:
  std::unique_ptr<Market> open_muted(std::uint64_t seed) {
    auto market = open(seed, 0.1);
    prepare_letters(*market);
    market->set_mute(true);
    return market;
  }
  /// How long a private request takes to its end without an answer, and why.
  std::pair<std::int64_t, std::string> refuse(Market& market) {
    const std::int64_t began_ms = market.clock().wall_ms();
    const auto answer = ask(market, 1, true);
    EXPECT_FALSE(answer);
    return {market.clock().wall_ms() - began_ms, answer ? "" : answer.error().message};
  }
};

TEST_F(MuteProviders, AreWaitedForAMomentAndNotAgain) {
  auto market = open_muted(76);
  add(*market, "mute");
  const auto first = refuse(*market);
  EXPECT_GT(first.first, 1'000) << "what it shows might be on its way";
  EXPECT_LE(first.first, limits::kStatementsWaitMs + 100);
  EXPECT_THAT(first.second, HasSubstr("'mute' has no statement of class 'medical' by an auditor"));
  EXPECT_LE(refuse(*market).first, 10);
  EXPECT_TRUE(ask(*market, 2, false)) << "others it may have";
}

TEST_F(MuteProviders, OneAfterTheOtherHoldUpARequestNoLonger) {
  std::optional<core::Result<gateway::InferResponse>> answer;
  auto market = open_muted(77);
  add(*market, "mute-0");
  market->gateway().infer(
      {.account = kConsumer,
       .model = "consumer/digits",
       .version = 0,
       .inputs = private_picture(1),
       .outputs = {},
       .privacy_class = "medical"},
      [&](core::Result<gateway::InferResponse> response) { answer.emplace(std::move(response)); });
  int others = 0;
  while (!answer && others < 60) {
    add(*market, fmt::format("mute-{}", ++others));
    market->rest_ms(990);
  }
  ASSERT_TRUE(answer);
  ASSERT_FALSE(*answer);
  EXPECT_EQ(answer->error().code, core::ErrorCode::kUnavailable);
  EXPECT_GT(others, 2);
  EXPECT_LE(others, 2 * limits::kStatementsWaitMs / 1'000);
}

TEST_F(MuteProviders, WithoutAStakeAreNotWaitedForAtAll) {
  auto market = open_muted(78);
  market->add_provider("mute");
  market->rest_ms(10);
  const auto refused = refuse(*market);
  EXPECT_LE(refused.first, 10);
  EXPECT_THAT(refused.second, HasSubstr("'mute' has a stake of 0"));
}

TEST_F(MuteProviders, ThatShowSomethingLateHaveItAllTheSame) {
  auto market = open_muted(79);
  const std::size_t late = add(*market, "late");
  market->rest_ms(limits::kStatementsWaitMs);
  EXPECT_LE(refuse(*market).first, 10);
  const auto statement = statement_of(*market, late, kLater);
  for (gateway::Gateway::StreamId id = 1; id < 8; ++id)
    market->gateway().on_message(id, rpc::Statements{{statement}});
  EXPECT_TRUE(ask(*market, 2, true));
  for (gateway::Gateway::StreamId id = 1; id < 8; ++id)
    market->gateway().on_message(id, rpc::Statements{});
  EXPECT_EQ(market->gateway().providers().at(0).privacy.size(), 1u) << "once on a stream";
}

TEST_F(MuteProviders, AreGivenNoRollout) {
  auto market = open_muted(80);
  add(*market, "mute");
  gateway::RolloutRequest request = letters(6, 16, 0);
  request.privacy_class = "medical";
  const auto refused = market->gateway().rollouts().create(request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'mute' has not shown its statements yet"));
  market->set_mute(false);
  const std::size_t paused = add(*market, "paused");
  vouch(*market, paused, kLater);
  market->pause(paused, "its host");
  market->rest_ms(2'000);
  market->set_mute(true);
  for (int i = 0; i < 4; ++i) add(*market, fmt::format("mute-{}", i));
  const auto made = market->gateway().rollouts().create(request);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->entry.provider, market->address_of(paused));
}

}  // namespace
}  // namespace commensal::sim
