// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/joint_store.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>

namespace commensal::store {
namespace {

using namespace testing;

core::Bytes bytes(std::string_view text) { return {text.begin(), text.end()}; }

TEST(JointStore, WhatIsHeldIsReadBackAndWrittenOnceAtTheEnd) {
  MemoryStore below;
  FaultStore counted(below, ~std::uint64_t{0}, Fault::kCrashBefore);
  JointStore store(counted);
  ASSERT_TRUE(store.apply({{"a", bytes("k1"), bytes("old")}, {"a", bytes("k3"), bytes("x")}}));
  store.hold();
  store.hold();
  ASSERT_TRUE(store.apply({{"a", bytes("k1"), bytes("new")}, {"a", bytes("k3"), std::nullopt}}));
  ASSERT_TRUE(store.release());
  ASSERT_TRUE(store.apply({{"a", bytes("k2"), bytes("y")}}));
  EXPECT_EQ(*store.get("a", bytes("k1")), bytes("new"));
  EXPECT_EQ(*below.get("a", bytes("k1")), bytes("old"));
  std::vector<core::Bytes> keys;
  ASSERT_TRUE(store.scan("a", {}, [&](core::ByteView key, core::ByteView) {
    keys.emplace_back(key.begin(), key.end());
    return true;
  }));
  EXPECT_EQ(keys, (std::vector{bytes("k1"), bytes("k2")}));
  EXPECT_EQ(counted.applies(), 1u);
  ASSERT_TRUE(store.release());
  EXPECT_EQ(counted.applies(), 2u);
  EXPECT_EQ(*below.get("a", bytes("k1")), bytes("new"));
  EXPECT_EQ(*below.get("a", bytes("k3")), std::nullopt);
}

TEST(JointStore, AfterAFailedReleaseNothingIsWrittenAnyMore) {
  MemoryStore below;
  FaultStore failing(below, 0, Fault::kFailBefore);
  JointStore store(failing);
  store.hold();
  ASSERT_TRUE(store.apply({{"a", bytes("k"), bytes("v")}}));
  EXPECT_FALSE(store.release());
  EXPECT_FALSE(store.apply({{"a", bytes("k"), bytes("v")}}));
  store.hold();
  EXPECT_FALSE(store.apply({{"a", bytes("k"), bytes("v")}}));
  EXPECT_EQ(*below.get("a", bytes("k")), std::nullopt);
}

TEST(JointStore, TogetherIsOneBatchAlsoOfAChangeThatFailsHalfway) {
  MemoryStore below;
  FaultStore counted(below, 1, Fault::kFailBefore);
  JointStore store(counted);
  const auto change = [&](core::Result<void> end) {
    return store.together([&]() -> core::Result<void> {
      COMMENSAL_TRY(store.apply({{"a", bytes("k1"), bytes("x")}}));
      COMMENSAL_TRY(store.apply({{"b", bytes("k2"), bytes("y")}}));
      return end;
    });
  };
  const auto refused = change(core::fail(core::ErrorCode::kInvalidArgument, "refused"));
  EXPECT_EQ(refused.error().message, "refused");
  EXPECT_EQ(counted.applies(), 1u);
  EXPECT_EQ(*below.get("a", bytes("k1")), bytes("x"));
  EXPECT_EQ(*below.get("b", bytes("k2")), bytes("y"));
  EXPECT_FALSE(change({}));  // the batch itself fails
  const auto both = change(core::fail(core::ErrorCode::kInvalidArgument, "refused"));
  EXPECT_NE(both.error().message, "refused");  // nothing is applied any more
}

}  // namespace
}  // namespace commensal::store
