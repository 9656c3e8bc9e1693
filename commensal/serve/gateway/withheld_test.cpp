// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/withheld.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>
#include <map>

namespace commensal::gateway {
namespace {

using protocol::Amount;
using ticket::State;

/// Tickets of which every fourth or so wins, of round 1, and their answers.
class WithheldTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 400;

  void SetUp() override {
    ASSERT_TRUE(tickets_.open());
    ASSERT_TRUE(book_.open());
    std::vector<ticket::testing::Pair::Step> steps;
    for (std::size_t i = 0; i < kCount; ++i) {
      steps.push_back(pair_.step(pair_.job(*ticket::threshold_of(0.25), Amount(1)), 1));
    }
    pair_.sign(steps);
    std::vector<ticket::NewTicket> made;
    std::vector<protocol::Receipt> receipts;
    std::vector<ReceiptRecord> records;
    for (const auto& step : steps) {
      made.push_back({step.receipt, {}, {}});
      receipts.push_back(step.receipt);
      records.emplace_back().receipt = step.receipt;
      records.back().account = "a";
    }
    undelivered_ = records.back().id();
    records.pop_back();
    ASSERT_TRUE(tickets_.commit(made, 1));
    ASSERT_TRUE(tickets_.countersign(receipts));
    ASSERT_TRUE(book_.append(records));
    const auto& job = steps[0].receipt.job;
    ASSERT_TRUE(tickets_.close(job.beacons[0], 1));
    ASSERT_TRUE(beacon_.on_gateway_reveal(1, *pair_.gateway_chain.reveal(1)));
  }
  /// Audits that it asks for in the next `ms`.
  std::size_t audits_in(std::int64_t ms) {
    due_.clear();
    for (; ms > 0; ms -= 1'000) {
      clock_.advance_ms(1'000);
      withheld_.tick();
    }
    loop_.run_until_idle();
    for (const auto& [receipt, times] : due_) EXPECT_EQ(times, 1);
    EXPECT_FALSE(due_.contains(undelivered_));
    return due_.size();
  }

  ticket::testing::Pair pair_{6};
  core::ManualClock clock_;
  store::MemoryStore disk_;
  store::JointStore store_{disk_};
  ReceiptBook book_{store_};
  ticket::TicketBook tickets_{store_, clock_};
  beacon::TwoPartyBeacon beacon_{beacon::HashChainTracker(pair_.gateway_head),
                                 beacon::HashChainTracker(pair_.provider_head)};
  std::map<core::Digest, int> due_;
  core::testing::ManualLoop loop_{clock_};
  EventQueue events_{loop_,
                     [this](event::Any& event) {
                       if (const auto* due = std::get_if<event::AuditDue>(&event)) {
                         ++due_[due->receipt];
                       }
                     },
                     [] {}};
  Withheld withheld_{clock_, book_, events_, tickets_};
  core::Digest undelivered_{};
};

TEST_F(WithheldTest, WhatIsNotDrawnInTimeIsAuditedAFewAtATime) {
  EXPECT_EQ(audits_in(59'000), 0u);
  const std::size_t first = audits_in(10'000);
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, kCount - 1);
  EXPECT_EQ(first + audits_in(21'000), kCount - 1) << "all but what was not delivered";
  EXPECT_EQ(audits_in(600'000), 0u) << "each once";
}

TEST_F(WithheldTest, WinnersThatNobodyClaimsAllAre) {
  audits_in(80'000);
  ASSERT_TRUE(beacon_.on_provider_reveal(1, *pair_.provider_chain.reveal(1)));
  ASSERT_TRUE(tickets_.draw(beacon_));
  const std::size_t won = tickets_.count(State::kWon);
  ASSERT_GT(won, 0u);
  const std::size_t audits = audits_in(20'000);
  EXPECT_GE(audits, won - 1);  // one may be the answer that was not delivered
  EXPECT_LE(audits, won);
  EXPECT_EQ(audits_in(600'000), 0u);
}

}  // namespace
}  // namespace commensal::gateway
