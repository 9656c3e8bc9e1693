// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/act_log.hpp>

namespace commensal::gateway {
namespace {

TEST(ActLog, KeepsTheNewestAndShowsThemInPages) {
  store::MemoryStore store;
  core::ManualClock clock;
  ActLog log(store, clock, 5);
  EXPECT_TRUE(log.read(0, 10)->empty());
  for (int i = 1; i <= 8; ++i) {
    clock.advance_ms(10);
    ASSERT_TRUE(log.add({.account = "root", .what = "money.grant", .on = std::to_string(i)}));
  }
  ActLog later(store, clock, 5);
  const auto page = later.read(0, 3);
  ASSERT_EQ(page->size(), 3u);
  EXPECT_EQ(page->at(0).number, 8u);
  EXPECT_EQ(page->at(0).at_ms, 80);
  EXPECT_EQ(page->at(2).on, "6");
  const auto rest = later.read(page->back().number, 100);
  ASSERT_EQ(rest->size(), 2u);
  EXPECT_EQ(rest->back().number, 4u);
  EXPECT_TRUE(later.read(4, 100)->empty());
  EXPECT_TRUE(later.read(1, 100)->empty());
  std::size_t rows = 0;
  ASSERT_TRUE(
      store.scan("operator_acts", {}, [&](core::ByteView, core::ByteView) { return ++rows > 0; }));
  EXPECT_EQ(rows, 5u);
  ASSERT_TRUE(later.add({}));
  EXPECT_EQ(later.read(0, 1)->at(0).number, 9u);
}

TEST(ActLog, WhatIsLongOrNoLineIsMadeOne) {
  store::MemoryStore store;
  core::ManualClock clock;
  ActLog log(store, clock, 5);
  ASSERT_TRUE(log.add({.on = std::string(1 << 20, 'x') + "\n", .outcome = "a\nb\xff"}));
  const auto acts = log.read(0, 1);
  ASSERT_EQ(acts->size(), 1u);
  EXPECT_EQ(acts->at(0).on.size(), limits::kLineBytesMax);
  EXPECT_EQ(acts->at(0).outcome, "a b?");
}

}  // namespace
}  // namespace commensal::gateway
