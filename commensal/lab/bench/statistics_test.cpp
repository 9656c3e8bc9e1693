// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <commensal/lab/bench/statistics.hpp>

namespace commensal::lab::bench {
namespace {

Timing whole(double seconds) { return {seconds, seconds}; }

TEST(BenchStatistics, QuantilesLieBetweenTheirNeighbours) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.75), 7);
}

TEST(BenchStatistics, GeometricMean) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::array{0.5, 2.0}), 1);
  EXPECT_DOUBLE_EQ(geometric_mean(std::array{2.0, 8.0}), 4);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 1);
}

TEST(BenchStatistics, RejectsWhatTookMuchLongerThanUsual) {
  const Side side = settle({{whole(1.0), whole(1.1), whole(1.3)}, {whole(1.02), whole(9)}}, 1);
  EXPECT_EQ(side.repeats, 5);
  EXPECT_EQ(side.rejected, 1);  // 9; 1.3 is within 1.25 of 1.1
  EXPECT_DOUBLE_EQ(side.median_s, 1.06);
  EXPECT_FALSE(side.busy);
}

TEST(BenchStatistics, RejectsWhatLackedTheProcessor) {
  const Side side = settle({{whole(1.0), {1.01, 0.97}}, {{1.02, 0.9}}}, 1);
  EXPECT_EQ(side.rejected, 2);
  EXPECT_DOUBLE_EQ(side.median_s, 1);
  EXPECT_TRUE(side.block_s[0].has_value());
  EXPECT_FALSE(side.block_s[1].has_value());
}

TEST(BenchStatistics, ThreadsMayWaitForEachOtherAsUsual) {
  const Side side = settle({{{1, 1.5}, {1, 1.45}, {1, 1.5}, {1, 1.1}}}, 2);
  EXPECT_EQ(side.rejected, 1);
  EXPECT_FALSE(side.busy);
}

TEST(BenchStatistics, AMachineThatIsAlwaysBusyIsSaidToBe) {
  const Side side = settle({{{1.0, 0.8}, {1.1, 0.7}, {1.05, 0.7}, {3, 0.7}}}, 1);
  EXPECT_TRUE(side.busy);
  EXPECT_EQ(side.rejected, 1);  // 3
}

TEST(BenchStatistics, TimesBelowZeroAreKept) {  // more was taken off them than there was
  const Side side = settle({{whole(-1.0), whole(-1.1), whole(-1.2)}}, 1);
  EXPECT_EQ(side.rejected, 0);
  EXPECT_DOUBLE_EQ(side.median_s, -1.1);
}

TEST(BenchStatistics, TheRatiosSpreadIsThatOfNeighbours) {
  // The machine becomes half as fast: the neighbours do not notice.
  const Side ours = settle({{whole(1)}, {whole(1.1)}, {whole(1.2)}}, 1);
  const Side theirs = settle({{whole(2)}, {whole(2.2)}, {whole(2.4)}}, 1);
  const Ratio ratio = ratio_of(ours, theirs);
  EXPECT_DOUBLE_EQ(ratio.value, 0.5);
  EXPECT_DOUBLE_EQ(ratio.low, 0.5);
  EXPECT_DOUBLE_EQ(ratio.high, 0.5);
  EXPECT_EQ(ratio.pairs, 3);
  EXPECT_TRUE(ratio.steady());
}

TEST(BenchStatistics, FewerThanThreePairsAreNeverSteady) {
  for (const std::size_t blocks : {1, 2}) {
    const Side side = settle(std::vector(blocks, std::vector{whole(1)}), 1);
    EXPECT_FALSE(ratio_of(side, side).steady()) << blocks;
  }
  // A pair of which a half was rejected is none.
  const Side ours = settle({{whole(1)}, {whole(1)}, {{1, 0.5}}}, 1);
  const Side theirs = settle({{whole(1)}, {whole(1)}, {whole(1)}}, 1);
  EXPECT_EQ(ratio_of(ours, theirs).pairs, 2);
  EXPECT_FALSE(ratio_of(ours, theirs).steady());
}

TEST(BenchStatistics, FewPairsAreSaidToBe) {
  const auto of = [](int pairs) { return Ratio{1, 1, 1, pairs}; };
  EXPECT_EQ(few_pairs_note({}), "");
  EXPECT_EQ(few_pairs_note(std::array{of(4), of(9)}), "");
  EXPECT_EQ(
      few_pairs_note(std::array{of(9), of(1)}),
      "1 of 2 rows rest on fewer than 4 blocks of each side (--repeats), the least on 1: their "
      "timing's spread is not known, and ours went first");
  EXPECT_EQ(few_pairs_note(std::array{of(3), of(3)}),
            "2 of 2 rows rest on fewer than 4 blocks of each side (--repeats), the least on 3");
}

}  // namespace
}  // namespace commensal::lab::bench
