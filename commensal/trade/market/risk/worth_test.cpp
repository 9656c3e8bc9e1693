// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/market/risk/worth.hpp>

namespace commensal::risk {
namespace {

TEST(RiskWorth, AnAuditIsWorthTheLossItAvoids) {
  // Used unaudited it loses 0.1 x 50 = 5; audited, a wrong one is computed again: 0.1 x 10 = 1.
  EXPECT_DOUBLE_EQ(value_of_audit(0.9, {50, 10, 2, 1}).value, 2);
  // Where it would be computed again anyway (0.5 x 50 > 10) an audit may save that.
  EXPECT_DOUBLE_EQ(value_of_audit(0.5, {50, 10, 2, 1}).value, 10 - 5 - 2);
  // An audit that sees nothing is worth nothing.
  EXPECT_DOUBLE_EQ(value_of_audit(0.5, {50, 10, 2, 0}).value, -2);
}

TEST(RiskWorth, NobodyPaysToLearnWhatIsCertain) {
  EXPECT_DOUBLE_EQ(value_of_audit(1, {50, 10, 2, 1}).value, -2);
  EXPECT_DOUBLE_EQ(value_of_audit(0, {50, 10, 2, 1}).value, -2);
}

TEST(RiskWorth, InformationNeverHarmsAndMoreIsWorthMore) {
  core::CounterRng rng(5);
  for (int i = 0; i < 20'000; ++i) {
    Use use{100 * rng.next_unit(), 100 * rng.next_unit(), rng.next_unit(), rng.next_unit()};
    const double right = rng.next_unit();
    const double value = value_of_audit(right, use).value;
    EXPECT_GE(value + use.audit_cost, -1e-9);
    EXPECT_LE(value + use.audit_cost, (1 - right) * use.loss + 1e-9);
    use.catches += (1 - use.catches) * rng.next_unit();
    EXPECT_GE(value_of_audit(right, use).value, value - 1e-9);
  }
}

TEST(RiskWorth, AClaimIsWorthItsFaceTimesItsChances) {
  EXPECT_DOUBLE_EQ(claim_price(0.9, {1000, 1, 1, 0, 0, 0, 0}).value, 900);
  EXPECT_DOUBLE_EQ(claim_price(0.9, {1000, 0.01, 1, 0.5, 4, 0, 0}).value, 9 - 2);
  EXPECT_DOUBLE_EQ(claim_price(1, {1210, 1, 1, 0, 0, 2, 0.1}).value, 1000);
  EXPECT_EQ(claim_price(0, {1000, 1, 1, 1, 4, 0, 0}).value, 0);
  const Figure figure = claim_price(0.9, {1000, 1, 1, 0, 0, 0, 0});
  EXPECT_EQ(figure.terms.back().name, "discount");
  EXPECT_NEAR(figure.terms.back().value, 0.1, 1e-12);
}

TEST(RiskWorth, PricesRiseWithTrustAndNeverAboveFace) {
  core::CounterRng rng(6);
  for (int i = 0; i < 20'000; ++i) {
    const ClaimOffer offer{1000 * rng.next_unit(), rng.next_unit(),      rng.next_unit(),
                           rng.next_unit(),        10 * rng.next_unit(), 30 * rng.next_unit(),
                           0.01 * rng.next_unit()};
    const double right = rng.next_unit();
    const double price = claim_price(right, offer).value;
    EXPECT_GE(price, 0);
    EXPECT_LE(price, offer.face);
    EXPECT_GE(claim_price((1 + right) / 2, offer).value, price);
  }
}

}  // namespace
}  // namespace commensal::risk
