// SPDX-License-Identifier: Apache-2.0
// The rows on a small network: their names, and that what they measure comes to an end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/lab/bench/verify/subject.hpp>

namespace commensal::lab::bench::verify {
namespace {

std::vector<std::string> names_of(const std::vector<bench::Row>& rows) {
  std::vector<std::string> names;
  for (const bench::Row& row : rows) names.push_back(row.name);
  return names;
}

TEST(VerifyRows, OfReplaysDisputesAndTheRulesOfOthers) {
  const auto subject =
      Subject::load(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
  ASSERT_TRUE(subject) << subject.error().message;
  double audit = 0;
  const auto replays = replay_rows(*subject, 3, audit);
  ASSERT_TRUE(replays) << replays.error().message;
  EXPECT_THAT(names_of(*replays), testing::ElementsAre("noise_share", "verification_share_full"));
  EXPECT_GT(audit, 0);

  const auto disputes = dispute_rows(*subject, 2, 1, false);
  ASSERT_TRUE(disputes) << disputes.error().message;
  EXPECT_THAT(names_of(*disputes),
              testing::ElementsAre("dispute_inferences_digits", "dispute_inferences_worst_digits",
                                   "dispute_mib_digits"));
  EXPECT_GT(disputes->back().value, 0);
  EXPECT_LT(disputes->back().value, 1);

  // A host's first ten requests are all replicated; later ones ever more rarely.
  const auto rules = rule_rows(1, 1);
  EXPECT_THAT(names_of(rules), testing::ElementsAre("truebit_share", "adaptive_replication_share"));
  EXPECT_EQ(rules[0].value, 1);
  EXPECT_GT(rules[1].value, 0.01);
  EXPECT_LT(rules[1].value, 0.03);
}

}  // namespace
}  // namespace commensal::lab::bench::verify
