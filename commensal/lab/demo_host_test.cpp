// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/lab/demo_host.hpp>

namespace commensal::lab {
namespace {

TEST(HostDemo, SaysNoMoreThanTheEvidence) {
  governor::Status status;
  EXPECT_EQ(report_of(status, 0.01).kept, 0);  // nothing was measured
  EXPECT_EQ(report_of(status, 0.01).kept_lower, 0);
  EXPECT_FALSE(report_of(status, 0.01).is_shown);
  status.hour_s = 60;
  status.loss = 0.004;
  status.loss_high = 0.3;
  status.is_shown = true;
  EXPECT_DOUBLE_EQ(report_of(status, 0.01).kept, 0.996);
  EXPECT_DOUBLE_EQ(report_of(status, 0.01).kept_lower, 0.7);
  EXPECT_FALSE(report_of(status, 0.01).is_shown) << "the minute is within what an hour may lose";
  status.loss_high = 0.009;
  EXPECT_TRUE(report_of(status, 0.01).is_shown);
  status.loss_high = 1.4;  // a minute tells little: no rate is below none
  EXPECT_EQ(report_of(status, 0.01).kept_lower, 0);
}

}  // namespace
}  // namespace commensal::lab
