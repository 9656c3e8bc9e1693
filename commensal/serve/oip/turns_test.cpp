// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/serve/oip/turns.hpp>
#include <future>

namespace commensal::oip {
namespace {

class TurnsOf : public ::testing::Test {
 protected:
  /// Tasks of an account that take so long each.
  void ask(const std::string& account, int count, std::int64_t ms) {
    for (int i = 0; i < count; ++i) turns_->post(account, task(account, ms));
  }
  Turns::Task task(const std::string& who, std::int64_t ms) {
    return [this, who, ms] {
      clock_.advance_ms(ms);
      done_ += who;
    };
  }

  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  std::shared_ptr<Turns> turns_ =
      std::make_shared<Turns>([this](Turns::Task task) { loop_.post(std::move(task)); }, clock_);
  std::string done_;
};

// The fault: whoever asked next waited for all that one account had asked for.
TEST_F(TurnsOf, WhoAsksForLittleWaitsForOneTaskOfWhoAsksForMuch) {
  ask("g", 100, 1);
  turns_->post("g", [] {});
  turns_->post("m", [this] {
    done_ += "m";
    ask("m", 1, 0);
  });
  loop_.run_until_idle();
  EXPECT_EQ(done_.substr(0, 4), "gmmg");
  EXPECT_EQ(done_.size(), 102u);
}

TEST_F(TurnsOf, AllHaveTheSameTimeNotTheSameTasks) {
  ask("g", 20, 8);
  ask("m", 40, 1);
  loop_.run_until_idle();
  const std::string first = done_.substr(0, 18);
  EXPECT_EQ(std::count(first.begin(), first.end(), 'g'), 2) << done_;
}

TEST_F(TurnsOf, NobodySavesTimeUpByAskingForNothing) {
  ask("g", 50, 1);
  loop_.run_until_idle();
  ask("m", 50, 1);
  ask("g", 50, 1);
  done_.clear();
  loop_.run_until_idle();
  const std::string first = done_.substr(0, 40);
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), 'g')), 20, 1) << done_;
}

TEST_F(TurnsOf, TheLoopSeesToOtherThingsInBetween) {
  ask("g", 10, 1);
  loop_.post([this] { done_ += "!"; });
  loop_.run_until_idle();
  EXPECT_EQ(done_.substr(0, 2), "g!");
}

// The fault: one line of large bodies, in which one account's four kept everybody waiting for 28 s.
TEST_F(TurnsOf, OneAccountHasOneOfSeveralThreads) {
  core::SystemClock clock;
  boost::asio::thread_pool threads(2);
  std::promise<void> over;
  const auto end = over.get_future().share();
  const auto post = [&](Turns::Task task) { boost::asio::post(threads, std::move(task)); };
  const auto turns = std::make_shared<Turns>(post, clock, 2);
  std::atomic<int> greedy = 0, modest = 0;
  for (int i = 0; i < 4; ++i) {
    turns->post("g", [&] {
      ++greedy;
      end.wait();
    });
  }
  std::promise<void> answered;
  turns->post("m", [&] {
    ++modest;
    answered.set_value();
  });
  answered.get_future().wait();  // for ever, if two of the other's ran
  EXPECT_EQ(greedy, 1);
  over.set_value();
  threads.join();
  EXPECT_EQ(greedy, 4);
  EXPECT_EQ(modest, 1);
}

}  // namespace
}  // namespace commensal::oip
