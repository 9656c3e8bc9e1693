// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/trade/market/risk/answer.hpp>

namespace commensal::risk {
namespace {

double right(double rate, const Evidence& evidence) {
  return probability_right(rate, evidence).value;
}

TEST(RiskAnswer, IsTheRecordWithoutEvidence) {
  EXPECT_NEAR(right(0.25, {}), 0.75, 1e-12);
  EXPECT_NEAR(right(0, {}), 1, 1e-11);
  EXPECT_NEAR(right(1, {}), 0, 1e-11);
}

TEST(RiskAnswer, MultipliesOddsByBayesFactors) {
  Evidence evidence;
  evidence.predictions = {{true, 0.9, 0.1}};
  EXPECT_NEAR(right(0.5, evidence), 0.9, 1e-12);  // 1 : 1 by 9
  evidence.predictions = {{false, 0.9, 0.1}, {true, 0.9, 0.1}};
  EXPECT_NEAR(right(0.2, evidence), 0.8, 1e-12);
  evidence.predictions.clear();
  evidence.replicas = {{true, 0.2, 0.1}};
  EXPECT_NEAR(right(0.5, evidence), 40.0 / 41, 1e-12);  // 0.8 / 0.02
  evidence.replicas = {{false, 0.2, 0.1}};
  EXPECT_NEAR(right(0.5, evidence), 0.2 / (0.2 + 0.98), 1e-12);
}

TEST(RiskAnswer, PoolsBetsByTrust) {
  Evidence evidence;
  evidence.bets = {{100, 1, 1}};
  EXPECT_NEAR(right(0.5, evidence), 100.0 / 101, 1e-12);
  evidence.bets = {{100, 1, 0}};
  EXPECT_NEAR(right(0.3, evidence), 0.7, 1e-12);
  evidence.bets = {{100, 1, 0.5}};
  EXPECT_NEAR(right(0.5, evidence), 10.0 / 11, 1e-12);
  // However many bet, their trusts together count as 1.
  evidence.bets.assign(10, {100, 1, 1});
  EXPECT_NEAR(right(0.5, evidence), 100.0 / 101, 1e-12);
}

TEST(RiskAnswer, ItsFactorsMultiplyToIt) {
  core::CounterRng rng(11);
  for (int i = 0; i < 2000; ++i) {
    Evidence evidence;
    evidence.predictions = {
        {rng.next_unit() < 0.5, 0.5 + 0.4 * rng.next_unit(), 0.1 + 0.3 * rng.next_unit()}};
    evidence.replicas = {{rng.next_unit() < 0.5, rng.next_unit(), rng.next_unit()}};
    evidence.bets = {{100 * rng.next_unit() + 1, 1, rng.next_unit() / 2}};
    const double rate = 0.01 + 0.9 * rng.next_unit();
    const Figure figure = probability_right(rate, evidence);
    double odds = 1;
    for (const Term& term : figure.terms) odds *= term.value;
    ASSERT_EQ(figure.terms.size(), 4);
    EXPECT_NEAR(odds / (1 + odds), figure.value, 1e-9);
    // A worse record never makes an answer more likely to be right.
    EXPECT_LE(right(std::min(1.0, rate + 0.05), evidence), figure.value + 1e-12);
    Evidence agreeing = evidence;
    agreeing.predictions.push_back({true, 0.9, 0.2});
    EXPECT_GE(right(rate, agreeing), figure.value - 1e-12);
  }
}

TEST(RiskAnswer, RefusesEvidenceByName) {
  Evidence evidence;
  evidence.bets = {{1, 1, 0.5}, {1, 0, 0.5}};
  EXPECT_NE(evidence.validity().error().message.find("bet 1: on_wrong: 0"), std::string::npos);
  evidence.bets.assign(kEvidenceMax + 1, {});
  EXPECT_EQ(evidence.validity().error().code, core::ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace commensal::risk
