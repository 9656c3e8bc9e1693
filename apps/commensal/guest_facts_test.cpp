// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/commensal/guest_facts.hpp>

namespace commensal::apps {
namespace {

TEST(GuestFacts, AreOfTheLastMinute) {
  GuestFacts facts;
  provider::ProviderStatus status;
  EXPECT_FALSE(facts.add(0, status).served_per_s);
  for (int s = 1; s <= 200; ++s) {
    status.delivered += s <= 100 ? 3 : 5;
    facts.add(s, status);
  }
  const guest::Report now = facts.add(200, status);
  EXPECT_NEAR(*now.served_per_s, 5, 0.01);
  EXPECT_EQ(now.served, 800U);
  EXPECT_FALSE(now.wants);
}

TEST(GuestFacts, KnowEarningsOnlyWhereThereAreTickets) {
  GuestFacts facts;
  provider::ProviderStatus status;
  facts.add(0, status);
  EXPECT_FALSE(facts.add(10, status).earned_per_hour);
  status.tickets.issued = 1;
  facts.add(20, status);
  status.tickets.expected = protocol::Amount(500);
  status.queued = 1;
  const guest::Report now = facts.add(120, status);
  EXPECT_NEAR(now.earned_per_hour.value(), 18'000, 1);
  EXPECT_TRUE(now.wants);
}

}  // namespace
}  // namespace commensal::apps
