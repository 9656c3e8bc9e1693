// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::ticket {
namespace {

Amount random_amount(core::CounterRng& rng) {
  const int shift = static_cast<int>(rng.next_u32() % 64);
  if (rng.next_u32() % 2 == 0) return Amount(rng.next_u64() >> shift);
  return Amount::from_words(rng.next_u64() >> shift, rng.next_u64());
}

TEST(MoneyOdds, ThresholdsGiveThePriceBackToTheUnit) {
  core::CounterRng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    const Amount face = random_amount(rng);
    const Amount price = random_amount(rng);
    if (face == Amount(0)) {
      EXPECT_EQ(threshold_for(price, face).error().message,
                "the face value is 0, expected 1 or more");
      continue;
    }
    const core::Digest threshold = *threshold_for(price, face);
    ASSERT_EQ(expected_value(face, threshold), std::min(price, face))
        << to_text(price) << " of " << to_text(face);
    const double ratio = std::min(1.0, to_double(price) / to_double(face));
    EXPECT_NEAR(probability_of(threshold), ratio, 1e-12 * ratio);
  }
}

TEST(MoneyOdds, KnownThresholds) {
  EXPECT_EQ(core::to_hex(*threshold_for(Amount(1), Amount(2))),
            "8000000000000000000000000000000000000000000000000000000000000000");
  // 2^256 / 3, rounded down.
  EXPECT_EQ(core::to_hex(*threshold_for(Amount(1), Amount(3))),
            "5555555555555555555555555555555555555555555555555555555555555555");
  EXPECT_EQ(core::to_hex(*threshold_of(0.25)), "4" + std::string(63, '0'));
  EXPECT_EQ(core::to_hex(*threshold_of(0)), std::string(64, '0'));
  EXPECT_EQ(threshold_of(1), certain_threshold());
  for (const double wrong : {-0.1, 1.1, std::nan("")}) EXPECT_FALSE(threshold_of(wrong));
  EXPECT_EQ(probability_of(certain_threshold()), 1.0);
  EXPECT_EQ(expected_value(Amount(7), certain_threshold()), Amount(7));
  EXPECT_EQ(expected_value(Amount(0), certain_threshold()), Amount(0));
  EXPECT_EQ(expected_value(Amount(7), core::Digest{}), Amount(0));
  const Amount most = Amount::from_words(~0ull, ~0ull);
  EXPECT_EQ(expected_value(most, certain_threshold()), most);
}

TEST(MoneyOdds, DoublesGoThereAndBack) {
  core::CounterRng rng(2);
  for (int i = 0; i < 1000; ++i) {
    const double p = std::ldexp(rng.next_unit(), -static_cast<int>(rng.next_u32() % 100));
    EXPECT_EQ(probability_of(*threshold_of(p)), p);
  }
  const core::Digest tenth = *threshold_of(0.1);
  EXPECT_DOUBLE_EQ(variance(Amount(100), tenth), 100 * 100 * 0.1 * 0.9);
  EXPECT_DOUBLE_EQ(tickets_per_win(tenth), 10);
  EXPECT_TRUE(std::isinf(tickets_per_win(core::Digest{})));
}

}  // namespace
}  // namespace commensal::ticket
