// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/commensal/host_options.hpp>
#include <apps/commensal/provider_status.hpp>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

TEST(HostLine, NamesWhatIsNotKnown) {
  guest::View now;
  now.unit = "sol";
  now.governor.window_s = 1210;  // a plan, no knowledge
  EXPECT_THAT(host_line(now), HasSubstr("host no rate, alone not measured yet; what it loses is "
                                        "not known yet; guest "));
  now.governor.rate = 990;
  now.governor.reference = 1000;
  now.governor.loss = 0.0031;
  now.governor.loss_high = 0.0062;
  now.governor.over_s = 60;
  EXPECT_THAT(host_line(now), HasSubstr("host 990 sol/s, alone 1000 sol/s; lost 0.31 % (at most "
                                        "0.62 %, over 60 s); guest "));
}

TEST(StatusPage, NamesWhatIsNotKnown) {
  guest::Status status;
  status.host = "process:1";
  status.unit = "s";
  status.confidence = 0.95;
  status.governor.window_s = 1210;
  EXPECT_THAT(*status_page(guest::line_of(status)), HasSubstr("lost       not known yet\n"));
  status.governor.over_s = 60;
  EXPECT_THAT(*status_page(guest::line_of(status)),
              HasSubstr("lost       0.00 %, at most 0.00 % at 95 % confidence, over 60 s"));
}

}  // namespace
}  // namespace commensal::apps
