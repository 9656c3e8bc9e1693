// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/kernels/memo.hpp>

namespace commensal::kernels {
namespace {

struct Large {
  std::int64_t number = 0;
  std::int64_t bytes() const { return 100; }
};

class MemoTest : public ::testing::Test {
 protected:
  std::int64_t large(Memo& memo) {
    return (*memo.of([this]() -> core::Result<Large> { return Large{++made_}; }))->number;
  }
  std::int64_t other(Memo& memo) {
    return (*memo.of([this]() -> core::Result<Large> { return Large{-++made_}; }))->number;
  }

  std::int64_t made_ = 0;
  std::atomic<std::int64_t> budget_ = 250;
};

TEST_F(MemoTest, KeepsNothingUnlessItIsTold) {
  Memo memo;
  EXPECT_EQ(large(memo), 1);
  EXPECT_EQ(large(memo), 2);
}

TEST_F(MemoTest, KeepsEachKindWithinTheBudgetAndGivesItBack) {
  {
    Memo memo, second;
    memo.keep(budget_, 0);
    second.keep(budget_, 0);
    EXPECT_EQ(large(memo), 1);
    EXPECT_EQ(other(memo), -2);
    EXPECT_EQ(large(memo), 1);
    EXPECT_EQ(other(memo), -2);
    EXPECT_EQ(budget_, 50);
    EXPECT_EQ(large(second), 3) << "there is no room for it";
    EXPECT_EQ(large(second), 4);
    Memo copy(memo);
    EXPECT_EQ(large(copy), 5) << "of another call nothing is known";
  }
  EXPECT_EQ(budget_, 250);
}

TEST_F(MemoTest, ForARunIsForARun) {
  Memo memo;
  memo.keep_for_a_run();
  EXPECT_EQ(large(memo), 1);
  EXPECT_EQ(large(memo), 1);
  memo.keep_for_a_run();
  EXPECT_EQ(large(memo), 2);
  memo.forget();
  EXPECT_EQ(large(memo), 3);
  EXPECT_EQ(large(memo), 4);
}

TEST_F(MemoTest, WhatFailsIsMadeAgain) {
  Memo memo;
  memo.keep(budget_, 0);
  const auto make = [this]() -> core::Result<Large> {
    if (++made_ == 1) return core::fail(core::ErrorCode::kInvalidArgument, "no");
    return Large{made_};
  };
  EXPECT_FALSE(memo.of(make));
  EXPECT_EQ((*memo.of(make))->number, 2);
  EXPECT_EQ((*memo.of(make))->number, 2);
}

}  // namespace
}  // namespace commensal::kernels
