// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>

namespace commensal::store::testing {
namespace {

using core::Bytes;

struct Expected {
  Fault fault;
  bool written;
  bool lives_on;
};

TEST(FaultStore, FailsOrCrashesAtTheChosenWrite) {
  for (const Expected& expected :
       {Expected{Fault::kFailBefore, false, true}, Expected{Fault::kFailAfter, true, true},
        Expected{Fault::kCrashBefore, false, false}, Expected{Fault::kCrashAfter, true, false}}) {
    MemoryStore inner;
    FaultStore store(inner, 1, expected.fault);
    EXPECT_TRUE(store.apply({{"a", {0}, Bytes{}}}));
    const auto failed = store.apply({{"a", {1}, Bytes{}}});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, core::ErrorCode::kUnavailable);
    EXPECT_EQ(inner.get("a", Bytes{1})->has_value(), expected.written);
    EXPECT_EQ(store.crashed(), !expected.lives_on);
    EXPECT_EQ(store.apply({{"a", {2}, Bytes{}}}).has_value(), expected.lives_on);
    EXPECT_EQ(inner.get("a", Bytes{2})->has_value(), expected.lives_on);
    EXPECT_EQ(store.get("a", Bytes{0}).has_value(), expected.lives_on);
    EXPECT_EQ(store.scan("a", {}, [](auto, auto) { return true; }).has_value(), expected.lives_on);
    EXPECT_TRUE(inner.get("a", Bytes{0})->has_value());
  }
}

}  // namespace
}  // namespace commensal::store::testing
