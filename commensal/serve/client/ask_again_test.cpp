// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/client/ask_again.hpp>

namespace commensal::client {
namespace {

using core::ErrorCode;
using core::Result;

// The fault: only the pauses were counted, and a gateway that lets every request wait for its end
// was asked for hours.
TEST(AskAgain, CountsTheTimeThatIsWaitedForAnswersToo) {
  core::ManualClock clock;
  int asked = 0;
  const auto hangs = [&]() -> Result<int> {
    ++asked;
    clock.advance_ms(50'000);
    return core::fail(ErrorCode::kDeadlineExceeded, "nothing came");
  };
  EXPECT_EQ(ask_again(clock, 120'000, hangs).error().message, "nothing came");
  EXPECT_EQ(asked, 4);  // away from the end of the first
}

TEST(AskAgain, EndsWithAnAnswerAnotherErrorOrAtStop) {
  const core::ManualClock clock;
  int asked = 0;
  const auto comes_back = [&]() -> Result<int> {
    if (++asked == 3) return asked;
    return core::fail(ErrorCode::kUnavailable, "away");
  };
  EXPECT_EQ(*ask_again(clock, 120'000, comes_back), 3);
  const auto refuses = [&]() -> Result<int> {
    ++asked;
    return core::fail(ErrorCode::kNotFound, "none");
  };
  EXPECT_FALSE(ask_again(clock, 120'000, refuses));
  EXPECT_EQ(asked, 4);
  std::stop_source stopping;
  stopping.request_stop();
  asked = 0;
  EXPECT_FALSE(ask_again(clock, 120'000, comes_back, stopping.get_token()));
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace commensal::client
