// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/trade/market/risk/inequality.hpp>

namespace commensal::risk {
namespace {

TEST(RiskInequality, HasItsClosedForms) {
  const Deterrent deterrent{90, 9, 0};
  EXPECT_DOUBLE_EQ(lazy_probability({1, 0, 1, true}, deterrent).value, 0.01);
  EXPECT_DOUBLE_EQ(lazy_probability({1, 0.5, 1, true}, {90, 9, 0.5}).value, 0.01);
  EXPECT_DOUBLE_EQ(malice_probability({100, 1, 0.01, 0}, deterrent).value, 1);
  EXPECT_DOUBLE_EQ(malice_probability({1, 1, 1, 49.5}, deterrent).value, 0.5);
}

TEST(RiskInequality, NeedsNoStakeWhereOnlyAuditedWinnersArePaid) {
  const LazyCheat cheat{1, 0, 1.1, false};
  EXPECT_EQ(lazy_probability(cheat, {}).value, 0);
  EXPECT_TRUE(lazy_deterred(cheat, {}, 0));
  // Unless auditors collude often enough that cheated steps are paid after all.
  EXPECT_FALSE(lazy_deterred(cheat, {0, 0, 0.2}, 1));
  EXPECT_TRUE(std::isinf(lazy_probability(cheat, {0, 0, 0.2}).value));
  EXPECT_NEAR(lazy_probability(cheat, {15, 0, 0.2}).value, 0.12 / 12, 1e-12);
}

TEST(RiskInequality, SaysWhenNoAuditSuffices) {
  EXPECT_TRUE(std::isinf(malice_probability({1, 1, 0, 0}, {}).value));
  EXPECT_FALSE(malice_deterred({1, 1, 0, 0}, {}, 1));
  EXPECT_GT(lazy_probability({10, 0, 1, true}, {5, 0, 0}).value, 1);
  EXPECT_TRUE(malice_deterred({1, 1, 2, 0}, {}, 0));  // it only costs
}

/// Drawn over many orders of magnitude.
double drawn(core::Rng& rng) { return std::exp2(40 * rng.next_unit() - 10); }

TEST(RiskInequality, IsSolvedByItsOwnProbability) {
  core::CounterRng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    const Deterrent deterrent{drawn(rng), drawn(rng), rng.next_unit() * 0.99};
    const LazyCheat lazy{drawn(rng), drawn(rng), drawn(rng), rng.next_unit() < 0.5};
    const Malice malice{1 + std::floor(drawn(rng)), drawn(rng), drawn(rng), drawn(rng)};
    const double p = lazy_probability(lazy, deterrent).value;
    EXPECT_TRUE(lazy_deterred(lazy, deterrent, p * (1 + 1e-9) + 1e-300));
    const double q = malice_probability(malice, deterrent).value;
    EXPECT_TRUE(malice_deterred(malice, deterrent, q * (1 + 1e-9) + 1e-300));
    if (p > 0) {
      EXPECT_FALSE(lazy_deterred(lazy, deterrent, p * (1 - 1e-6)));
    }
    if (q > 0) {
      EXPECT_FALSE(malice_deterred(malice, deterrent, q * (1 - 1e-6)));
    }
    Deterrent more = deterrent;
    more.stake *= 2;
    EXPECT_LE(lazy_probability(lazy, more).value, p);
    EXPECT_LE(malice_probability(malice, more).value, q);
    Deterrent bought = deterrent;
    bought.collusion = (1 + deterrent.collusion) / 2;
    EXPECT_GE(lazy_probability(lazy, bought).value, p);
    EXPECT_GE(malice_probability(malice, bought).value, q);
  }
}

TEST(RiskInequality, RefusesWhatIsOutOfRangeByName) {
  EXPECT_EQ(LazyCheat({-1, 0, 0, true}).validity().error().message,
            "step_cost: -1, expected 0 to 3.5e+38");
  EXPECT_FALSE(Malice({0.5, 0, 0, 0}).validity());
  EXPECT_FALSE(Malice({1, std::nan(""), 0, 0}).validity());
}

}  // namespace
}  // namespace commensal::risk
