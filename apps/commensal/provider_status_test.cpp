// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/commensal/provider_status.hpp>
#include <commensal/collocation/guest/messages.hpp>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

TEST(StatusPage, NamesWhatIsNotKnown) {
  guest::Status status;
  status.host = "process:1";
  status.unit = "s";
  status.confidence = 0.95;
  EXPECT_THAT(*status_page(guest::line_of(status)), HasSubstr("lost       not known yet\n"));
  EXPECT_THAT(*status_page(guest::line_of(status)), HasSubstr("cost       not known yet\n"));
  EXPECT_THAT(*status_page(guest::line_of(status)),
              HasSubstr("host earns   not told (--host-income-per-hour)\n"));
  EXPECT_THAT(*status_page(guest::line_of(status)), HasSubstr("energy       no counter here\n"));
  status.has_energy = true;
  status.incomes.host = 5;
  EXPECT_THAT(*status_page(guest::line_of(status)), HasSubstr("energy       not known yet\n"));
  EXPECT_THAT(*status_page(guest::line_of(status)), HasSubstr("  loses      not known yet\n"));
  status.governor.hour_s = 60;
  EXPECT_THAT(*status_page(guest::line_of(status)),
              HasSubstr("lost       0.00 %, at most 0.00 % at 95 % confidence, over 60 s"));
}

TEST(StatusPage, ShowsThePromiseInForce) {
  guest::Status status;
  status.promise = {.hour = 0.001, .minute = 0.03};
  EXPECT_THAT(*status_page(guest::line_of(status)),
              HasSubstr("may lose   at most 0.1 % of an hour and 3 % of any minute\n"));
  status.promise.income = 5;
  EXPECT_THAT(*status_page(guest::line_of(status)), HasSubstr("and less than guests earn\n"));
}

}  // namespace
}  // namespace commensal::apps
