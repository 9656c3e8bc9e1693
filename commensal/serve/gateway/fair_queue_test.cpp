// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/fair_queue.hpp>
#include <vector>

namespace commensal::gateway {
namespace {

std::vector<int> all_of(FairQueue<int>& queue) {
  std::vector<int> order;
  while (const auto item = queue.pop()) order.push_back(*item);
  return order;
}

TEST(FairQueueOf, RanksTakeTheTurnsOfTheirOwnQueueOnly) {
  FairQueue<int> queue;
  queue.push("a", 1, {"m", 5});
  queue.push("a", 2, {"other", 9});
  queue.push("a", 3, {"m", 5});
  queue.push("a", 4, {"m", 2});
  queue.push("b", 5, {"m", 9});
  // In m's turns 4, 1, 3; b has its turn whatever its rank.
  EXPECT_EQ(all_of(queue), (std::vector<int>{4, 5, 2, 1, 3}));
}

TEST(FairQueueOf, WhatWasInVainIsTheFirstAgainAndWhatIsTakenLeavesItsTurn) {
  FairQueue<int> queue;
  for (int i = 0; i < 4; ++i) queue.push("a", i, {"m", 1});
  queue.push("a", 10, {"n", 0});
  queue.push("a", 4, {"m", 0});
  const int first = *queue.pop();
  EXPECT_EQ(first, 4);
  queue.put_back("a", first, {"m", 0});
  EXPECT_EQ(queue.size_at("a", {"m", 1}), 4u);
  EXPECT_EQ(queue.take([](int item) { return item == 3; }), 3);
  EXPECT_EQ(queue.size_at("a", {"m", 1}), 3u);
  EXPECT_EQ(queue.size_of("a"), 5u);
  EXPECT_EQ(all_of(queue), (std::vector<int>{4, 0, 1, 2, 10}));
  EXPECT_EQ(queue.size_at("a", {"m", 0}), 0u);
}

// Whatever is pushed, taken and popped: each comes out once, and nothing is left.
TEST(FairQueueOf, KeepsCountOfRandomItems) {
  core::CounterRng rng(5);
  FairQueue<int> queue;
  std::vector<int> seen(3'000);
  std::size_t inside = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::string account(1, static_cast<char>('a' + rng.next_u32() % 3));
    queue.push(account, i, {std::string(rng.next_u32() % 3, 'q'), rng.next_u32() % 4});
    ++inside;
    if (rng.next_u32() % 3 == 0) {
      const int wanted = static_cast<int>(rng.next_u32() % static_cast<std::uint32_t>(i + 1));
      const auto taken = queue.take([&](int item) { return item == wanted; });
      if (taken) ++seen[static_cast<std::size_t>(*taken)], --inside;
    }
    if (rng.next_u32() % 3 == 0) {
      if (const auto item = queue.pop()) ++seen[static_cast<std::size_t>(*item)], --inside;
    }
    ASSERT_EQ(queue.size(), inside);
  }
  for (const int item : all_of(queue)) ++seen[static_cast<std::size_t>(item)];
  EXPECT_EQ(seen, std::vector<int>(3'000, 1));
  EXPECT_EQ(queue.accounts(), 0u);
}

}  // namespace
}  // namespace commensal::gateway
