// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/commensal/rollout_summary.hpp>

namespace commensal::apps {
namespace {

TEST(RolloutSummary, HasAReasonsCodeWhereThereIsOne) {
  client::RolloutInfo info;
  info.state = "failed";
  info.reason = "why";
  EXPECT_FALSE(summary_of(info).contains("reason_code"));
  info.reason_code = client::kNotFinite;
  EXPECT_EQ(summary_of(info).at("reason_code"), "not-finite");
  EXPECT_EQ(summary_of(info).at("reason"), "why");
}

}  // namespace
}  // namespace commensal::apps
