// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/ban_list.hpp>

namespace commensal::gateway {
namespace {

crypto::Address address_of(std::size_t i) {
  crypto::Address address;
  address.bytes[0] = static_cast<std::uint8_t>(i);
  address.bytes[1] = static_cast<std::uint8_t>(i >> 8);
  return address;
}

TEST(BanList, ABanEndsAndTheNextIsTwiceAsLong) {
  store::MemoryStore store;
  core::ManualClock clock;
  const crypto::Address cheat = address_of(1);
  for (int time = 0; time < 3; ++time) {
    BanList bans(store, clock);
    ASSERT_TRUE(bans.open());
    EXPECT_EQ(bans.why(cheat), "");
    ASSERT_TRUE(bans.add(cheat, "other bits"));
    BanList again(store, clock);
    ASSERT_TRUE(again.open());
    clock.advance_ms((limits::kBanMs << time) - 1);
    EXPECT_EQ(again.why(cheat), "other bits");
    clock.advance_ms(1);
    EXPECT_EQ(again.why(cheat), "");
    EXPECT_EQ(again.find(cheat)->count, time + 1u);
  }
}

TEST(BanList, KeepsSoManyAndForgetsTheOldest) {
  store::MemoryStore store;
  core::ManualClock clock;
  BanList bans(store, clock);
  ASSERT_TRUE(bans.open());
  for (std::size_t i = 0; i < limits::kBansMax + 10; ++i) {
    clock.advance_ms(1);
    ASSERT_TRUE(bans.add(address_of(i), "other bits"));
  }
  EXPECT_EQ(bans.all().size(), limits::kBansMax);
  EXPECT_EQ(bans.find(address_of(9)), nullptr);
  EXPECT_NE(bans.find(address_of(10)), nullptr);
  BanList again(store, clock);
  ASSERT_TRUE(again.open());
  EXPECT_EQ(again.all().size(), limits::kBansMax);
}

}  // namespace
}  // namespace commensal::gateway
