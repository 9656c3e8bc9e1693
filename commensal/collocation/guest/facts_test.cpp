// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/collocation/guest/facts.hpp>

namespace commensal::guest {
namespace {

TEST(FactsTest, AreOfTheLastMinute) {
  Facts facts;
  Work work;
  EXPECT_FALSE(facts.add(0, work).served_per_s);
  for (int s = 1; s <= 200; ++s) {
    work.served += s <= 100 ? 3 : 5;
    facts.add(s, work);
  }
  const Report now = facts.add(200, work);
  EXPECT_NEAR(*now.served_per_s, 5, 0.01);
  EXPECT_EQ(now.served, 800U);
  EXPECT_FALSE(now.wants);
}

// The fault: whoever has requests of a millisecond was never seen with one, and what it would earn
// at full speed was never known.
TEST(FactsTest, WhoHasAnsweredSinceTheLastLookWasAtWork) {
  Facts facts;
  Work work{.waiting = 0, .served = 7, .earned = {}};
  EXPECT_FALSE(facts.add(0, work).wants);
  work.served = 9;
  EXPECT_TRUE(facts.add(0.2, work).wants);
  EXPECT_FALSE(facts.add(0.4, work).wants);
}

TEST(FactsTest, KnowEarningsOnlyWhereThereAreTickets) {
  Facts facts;
  Work work;
  facts.add(0, work);
  EXPECT_FALSE(facts.add(10, work).earned_per_hour);
  work.earned = 0;
  facts.add(20, work);
  work.earned = 500;
  work.waiting = 1;
  const Report now = facts.add(120, work);
  EXPECT_NEAR(now.earned_per_hour.value(), 18'000, 1);
  EXPECT_TRUE(now.wants);
}

}  // namespace
}  // namespace commensal::guest
