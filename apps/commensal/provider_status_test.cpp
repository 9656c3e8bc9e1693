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
  status.governor.hour_s = 60;
  EXPECT_THAT(*status_page(guest::line_of(status)),
              HasSubstr("lost       0.00 %, at most 0.00 % at 95 % confidence, over 60 s"));
}

}  // namespace
}  // namespace commensal::apps
