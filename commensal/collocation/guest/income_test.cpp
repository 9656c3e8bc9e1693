// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/collocation/guest/income.hpp>

namespace commensal::guest {
namespace {

governor::Status costs(double cost, double sd, double lag = 0) {
  governor::Status status;
  status.hour_s = 600;
  status.cost = cost;
  status.cost_sd = sd;
  status.lag = lag;
  return status;
}

TEST(Income, HostLosesWhatIsBelievedAndADeviation) {
  EXPECT_DOUBLE_EQ(host_loses(100.0, costs(0.02, 0.01)).value(), 3);
  EXPECT_DOUBLE_EQ(host_loses(100.0, costs(0.02, 0.01, 0.04)).value(), 7);
  EXPECT_DOUBLE_EQ(host_loses(100.0, costs(-0.02, 0.01, -0.1)).value(), 1);
  EXPECT_DOUBLE_EQ(host_loses(100.0, costs(0.9, 0.4)).value(), 100);  // no more than there is
  EXPECT_FALSE(host_loses(100.0, governor::Status{}));                // nothing is known yet
  EXPECT_FALSE(host_loses(std::nullopt, costs(0.02, 0.01)));
}

TEST(Income, GuestsRunWhileTheyEarnMore) {
  Incomes incomes{.host = 100, .host_loses = 3, .guests = 1, .guests_at_full = 5};
  EXPECT_EQ(why_not_worth(incomes), "");
  incomes.guests_at_full = 3;
  EXPECT_EQ(why_not_worth(incomes), "guests earn less than the host would lose");
  incomes.guests_at_full = 0;
  incomes.host_loses = 0;
  EXPECT_NE(why_not_worth(incomes), "");  // for nothing nobody runs
  incomes.guests_at_full.reset();
  EXPECT_EQ(why_not_worth(incomes), "");  // it is to be found out
  EXPECT_EQ(why_not_worth({.host = 100, .guests_at_full = 1}), "");
}

TEST(Income, AtFullSpeedIsByTheTimeThatGuestsHadSomethingToDo) {
  FullIncome full;
  EXPECT_FALSE(full.per_hour());
  for (int s = 0; s <= 1800; ++s) {  // at a quarter, every other second with nothing to do
    full.add(s, 0.25, s % 2 == 0, 1.0);
  }
  EXPECT_NEAR(full.per_hour().value(), 8, 0.01);
  // While they are held it stands, for an hour.
  for (int s = 1801; s <= 1800 + 3600; ++s) full.add(s, 0, true, 0.0);
  EXPECT_NEAR(full.per_hour().value(), 8, 0.01);
  full.add(1800 + 3602, 0, true, 0.0);
  EXPECT_FALSE(full.per_hour());
}

TEST(Income, OfGuestsThatEarnNothingIsNone) {
  FullIncome full;
  for (int s = 0; s <= 60; ++s) full.add(s, 1, true, std::nullopt);
  EXPECT_FALSE(full.per_hour());
  for (int s = 61; s <= 120; ++s) full.add(s, 1, true, 0.0);
  EXPECT_EQ(full.per_hour(), 0.0);
}

}  // namespace
}  // namespace commensal::guest
