// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/handshakes.hpp>
#include <string>
#include <vector>

namespace commensal::http {
namespace {

constexpr auto kAtOnce = static_cast<std::size_t>(limits::kHttpHandshakesAtOnce);

class HandshakesTest : public testing::Test {
 protected:
  void come(const std::string& network, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      handshakes_.wait(network, [this, network] {
        if (network == "gone") return false;
        begun_.push_back(network);
        return true;
      });
    }
  }
  /// So long by the clock; the timers between are real.
  void pass(std::int64_t ms) {
    for (std::int64_t i = 0; i < ms; i += 10) {
      clock_.advance_ms(10);
      io_.restart();
      io_.run_for(std::chrono::milliseconds(4));
    }
  }

  core::ManualClock clock_;
  boost::asio::io_context io_;
  Handshakes handshakes_{io_, clock_};
  std::vector<std::string> begun_;
};

TEST_F(HandshakesTest, BeginsAtOnceWhatIsNotTooMuch) {
  come("a", kAtOnce);
  io_.poll();
  EXPECT_EQ(begun_.size(), kAtOnce);
}

TEST_F(HandshakesTest, BeginsSoManyASecondAndLosesNone) {
  constexpr std::size_t kLate = 100;
  come("a", kAtOnce + kLate);
  pass(200);
  EXPECT_GE(begun_.size(), kAtOnce + 40);
  EXPECT_LE(begun_.size(), kAtOnce + 52);
  pass(500);
  EXPECT_EQ(begun_.size(), kAtOnce + kLate);
}

TEST_F(HandshakesTest, WhoHadNoneForLongestIsNext) {
  clock_.advance_ms(1'000);
  for (int i = 0; i < 16; ++i) come("flood" + std::to_string(i), 100);
  pass(200);
  begun_.clear();
  come("honest", 1);
  pass(10);
  ASSERT_FALSE(begun_.empty());
  EXPECT_EQ(begun_.front(), "honest");
}

TEST_F(HandshakesTest, WhoHadOneLongAgoIsAsNew) {
  clock_.advance_ms(1'000);
  come("back", 1);
  clock_.advance_ms(11'000);
  for (int i = 0; i < 200; ++i) come("new" + std::to_string(i), 1);
  come("back", 1);
  for (int i = 200; i < 400; ++i) come("new" + std::to_string(i), 1);
  begun_.clear();
  pass(600);
  const auto at = std::ranges::find(begun_, "back");
  ASSERT_NE(at, begun_.end());
  EXPECT_LE(at - begun_.begin(), 200 - static_cast<std::ptrdiff_t>(kAtOnce));
}

// And costs none, however many they are.
TEST_F(HandshakesTest, WhoHasLeftIsPassedOver) {
  come("a", kAtOnce);
  come("gone", 10'000);
  come("b", 2);
  begun_.clear();
  pass(20);
  EXPECT_EQ(begun_, (std::vector<std::string>{"b", "b"}));
}

}  // namespace
}  // namespace commensal::http
