// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/trade/pay/ticket/cover.hpp>

namespace commensal::ticket {
namespace {

TEST(MoneyCover, CountsTheWinnersThatAreNextToCertainlyTheMost) {
  for (const std::uint64_t n : {0u, 1u, 5u}) EXPECT_EQ(winners_most(n, 1), n);
  EXPECT_EQ(winners_most(3, 0.1), 3u);
  EXPECT_EQ(winners_most(100, 0.5), 81u);       // 50 + 6 * 5 + 1
  EXPECT_EQ(winners_most(10'000, 0.01), 161u);  // 100 + 6 * 9.9499 + 1, rounded up
  EXPECT_EQ(winners_most(1'000'000, 0), 1u);
  EXPECT_EQ(winners_cover(100, 0.5, Amount(9), Amount(1)), Amount(810));
  const Amount most = Amount::from_words(~0ull, ~0ull);
  EXPECT_FALSE(winners_cover(2, 1, most, Amount(0)));
  EXPECT_FALSE(winners_cover(2, 1, most, Amount(1)));
}

TEST(MoneyCover, WantsTheEscrowAndTwiceAsMuchForPenalties) {
  const auto said = [](std::uint64_t escrow, std::uint64_t penalty, bool wants_penalty) {
    const auto checked = check_cover({Amount(escrow), Amount(penalty)}, 100, 0.5, Amount(9),
                                     Amount(1), wants_penalty);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(said(810, 1620, true), "");
  EXPECT_EQ(said(810, 0, false), "");
  EXPECT_EQ(said(809, 5000, true),
            "the gateway's escrow of 809 does not cover 810, what 100 ticket(s) may win");
  EXPECT_EQ(said(810, 1619, true),
            "the gateway's penalty escrow of 1619 does not cover 1620, twice what 100 ticket(s) "
            "may win");
}

}  // namespace
}  // namespace commensal::ticket
