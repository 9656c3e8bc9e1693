// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/oip/statistics.hpp>

namespace commensal::oip {
namespace {

const Statistics::Key kDigits{"alice/digits", 1};

Ended answered(std::uint64_t rows, std::optional<observe::Runs> runs) {
  return {.is_success = true, .rows = rows, .inferred_ns = 10, .runs = runs};
}

TEST(Statistics, RunsAreCountedByTheirRowsAsProvidersTell) {
  Statistics statistics;
  statistics.add(kDigits, answered(2, observe::Runs{1, 5, 700}));  // for three
  statistics.add(kDigits, answered(2, observe::Runs{}));
  statistics.add(kDigits, answered(1, observe::Runs{}));
  statistics.add(kDigits, answered(5, observe::Runs{1, 5, 300}));
  statistics.add(kDigits, answered(1, observe::Runs{1, 1, 50}));
  statistics.add(kDigits, answered(4, std::nullopt));  // an older provider's
  Ended failed = answered(1, observe::Runs{1, 9, 1});
  failed.is_success = false;
  statistics.add(kDigits, failed);
  const ModelStatistics of = statistics.of(kDigits);
  EXPECT_EQ(of.inferences, 15u);
  EXPECT_EQ(of.executions, 4u);
  EXPECT_EQ(of.success.count, 6u);
  ASSERT_EQ(of.batches.size(), 2u);
  EXPECT_EQ(of.batches.at(5).count, 2u);
  EXPECT_EQ(of.batches.at(5).ns, 1'000u);
  EXPECT_EQ(of.batches.at(1).count, 1u);
  EXPECT_EQ(of.batches.at(1).ns, 50u);
}

TEST(Statistics, WhatProvidersMakeUpHasABound) {
  Statistics statistics;
  for (std::uint64_t i = 1; i < 10 * limits::kBatchSizesMax; ++i)
    statistics.add(kDigits, answered(1, observe::Runs{1, i * 1'000, 1}));
  EXPECT_EQ(statistics.of(kDigits).batches.size(), limits::kBatchSizesMax);
}

}  // namespace
}  // namespace commensal::oip
