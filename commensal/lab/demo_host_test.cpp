// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/lab/demo_host.hpp>

namespace commensal::lab {
namespace {

TEST(HostDemo, IsAsConfidentAsTheEvidenceAllows) {
  const governor::Rules rules;
  governor::Status status;
  EXPECT_EQ(confidence_of(status, rules), 0);  // nothing was measured
  status.window_s = 60;
  status.loss = 0.004;
  status.loss_high = 0.004 + rules.confidence * 0.006;  // one deviation below one per cent
  EXPECT_NEAR(confidence_of(status, rules), 0.8413, 1e-4);
  status.loss = 0.016;
  status.loss_high = 0.016 + rules.confidence * 0.006;
  EXPECT_NEAR(confidence_of(status, rules), 0.1587, 1e-4);
  status.loss = status.loss_high = 0;  // the guest was never on
  EXPECT_EQ(confidence_of(status, rules), 1);
}

}  // namespace
}  // namespace commensal::lab
