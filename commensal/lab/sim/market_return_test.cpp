// SPDX-License-Identifier: Apache-2.0
// A gateway that has just started, or taken over, and whose providers have not dialled in again.
#include <gmock/gmock.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/lab/sim/testing/market_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class MarketReturn : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(market_.start_gateway());
    ASSERT_TRUE(market_.push("digits", digits()));
  }
  void be_known(std::size_t provider) {
    market_.rest_ms(limits::kPresenceWriteMs);
    market_.kill_gateway();
    market_.kill_provider(provider);
    ASSERT_TRUE(market_.start_gateway());
  }
  /// How long a request takes to its end, and why it failed, or "".
  std::pair<std::int64_t, std::string> ask() {
    const std::int64_t began_ns = market_.clock().monotonic_ns();
    const auto answer = market_.infer("digits", picture(++asked_), 60'000);
    return {(market_.clock().monotonic_ns() - began_ns) / 1'000'000,
            answer ? "" : answer.error().message};
  }
  Market market_{17, scratch(::testing::UnitTest::GetInstance()->current_test_info()->name())};
  std::uint64_t asked_ = 0;
};

// The fault: whoever asked first after a take-over was told that there is no provider.
TEST_F(MarketReturn, ARequestWaitsForWhoWasConnectedBefore) {
  const std::size_t only = market_.add_provider("only");
  for (const bool has_answered : {false, true}) {
    SCOPED_TRACE(has_answered);
    if (has_answered) {
      ASSERT_EQ(ask().second, "");
    }
    be_known(only);
    EXPECT_THAT(market_.gateway().why_not_ready(nullptr), HasSubstr("has not come back yet"));
    market_.loop().after(5'000, [&] { market_.start_provider(only); });
    const auto [took_ms, why] = ask();
    EXPECT_EQ(why, "");
    EXPECT_GE(took_ms, 5'000);
    EXPECT_LE(took_ms, 5'100);
  }
}

TEST_F(MarketReturn, WhoDoesNotComeBackIsNotWaitedForLong) {
  be_known(market_.add_provider("only"));
  std::vector<core::Result<gateway::InferResponse>> answers;
  for (int i = 0; i < 40; ++i) {
    market_.ask("digits", picture(1), [&](auto answer) { answers.push_back(std::move(answer)); });
  }
  market_.rest_ms(limits::kReturnMsMax - 1);
  EXPECT_EQ(answers.size(), 0u);
  market_.rest_ms(2);
  ASSERT_EQ(answers.size(), 40u) << "all that wait for the same end at once";
  EXPECT_THAT(answers[0].error().message, HasSubstr("no provider"));
  EXPECT_EQ(ask(), std::pair(std::int64_t{0}, answers[0].error().message));
}

TEST_F(MarketReturn, NobodyIsWaitedForWhereNobodyWasThere) {
  market_.kill_gateway();
  ASSERT_TRUE(market_.start_gateway());
  const auto [took_ms, why] = ask();
  EXPECT_THAT(why, HasSubstr("none is connected"));
  EXPECT_EQ(took_ms, 0);
}

TEST_F(MarketReturn, WhoMayNotRunThePrivateModelIsNotWaitedForWithIt) {
  const std::size_t other = market_.add_provider("other");
  ASSERT_TRUE(market_.push("digits", digits(),
                           {.is_private = true, .allowed_providers = {crypto::Address{{1}}}}));
  be_known(other);
  const auto [took_ms, why] = ask();
  EXPECT_THAT(why, HasSubstr("allow-list"));
  EXPECT_EQ(took_ms, 0);
}

}  // namespace
}  // namespace commensal::sim
