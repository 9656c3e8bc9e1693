// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/gateway/leaving.hpp>
#include <map>
#include <set>

namespace commensal::gateway {
namespace {

core::Digest job(std::uint8_t stream, std::uint8_t number) { return {stream, number}; }

class LeavingOf : public ::testing::Test {
 protected:
  void fill(std::uint8_t stream, std::uint8_t jobs) {
    for (std::uint8_t i = 0; i < jobs; ++i) jobs_[stream].push_back(job(stream, i));
  }
  std::vector<core::Digest> take_all() {
    std::vector<core::Digest> taken;
    while (!leaving_.empty()) {
      if (const auto turn = leaving_.next()) taken.push_back(turn->job);
    }
    return taken;
  }

  std::map<Leaving::StreamId, std::vector<core::Digest>> jobs_;
  int asked_ = 0;
  Leaving leaving_{[this](Leaving::StreamId stream) {
    ++asked_;
    return jobs_[stream];
  }};
};

TEST_F(LeavingOf, EachJobComesOnceAndStreamsTakeTurns) {
  fill(1, 3);
  fill(2, 1);
  leaving_.add(1);
  leaving_.add(2);
  EXPECT_EQ(take_all(), (std::vector{job(1, 2), job(2, 0), job(1, 1), job(1, 0)}));
  EXPECT_EQ(leaving_.next(), std::nullopt);
}

TEST_F(LeavingOf, WhoPausesAgainAndAgainHoldsUpNobody) {
  fill(1, 50);
  fill(2, 5);
  leaving_.add(1);
  leaving_.add(2);
  std::set<core::Digest> of_others, of_its_own;
  for (int turn = 0; turn < 60; ++turn) {
    leaving_.add(1);
    const auto next = leaving_.next();
    if (next) (next->stream == 1 ? of_its_own : of_others).insert(next->job);
  }
  EXPECT_EQ(of_others.size(), 5u);
  EXPECT_EQ(of_its_own.size(), 50u) << "nor its own";
}

TEST_F(LeavingOf, WhatIsAskedForMeanwhileIsLookedAtOnceMore) {
  fill(1, 2);
  leaving_.add(1);
  ASSERT_EQ(leaving_.next()->job, job(1, 1));
  for (int i = 0; i < 1'000; ++i) leaving_.add(1);
  EXPECT_EQ(take_all(), (std::vector{job(1, 0), job(1, 1), job(1, 0)}));
  EXPECT_EQ(asked_, 2) << "not a thousand times";
}

TEST_F(LeavingOf, WhatIsLateComesFirst) {
  fill(1, 9);
  fill(2, 9);
  leaving_.add(1);
  leaving_.add(2);
  const Leaving::Turn late[] = {{2, job(2, 7)}, {2, job(2, 3)}, {3, job(3, 1)}};
  for (const Leaving::Turn& turn : late) leaving_.add_first(turn);
  for (const Leaving::Turn& turn : late) EXPECT_EQ(leaving_.next(), turn);
  EXPECT_EQ(take_all().size(), 18u) << "the others as well";
}

}  // namespace
}  // namespace commensal::gateway
