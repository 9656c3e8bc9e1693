// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/trade/market/risk/belief.hpp>

namespace commensal::risk {
namespace {

using protocol::Outcome;

/// Nothing is ever forgotten: then everything has a closed form.
Prior steady() {
  Prior prior;
  prior.turn = 0;
  prior.half_life_days = 1e9;
  return prior;
}

Belief after(const Prior& prior, int matches, int mismatches) {
  Belief belief(prior, prior.honest);
  for (int i = 0; i < matches; ++i) belief.observe(Outcome::kMatch, prior.honest);
  for (int i = 0; i < mismatches; ++i) belief.observe(Outcome::kMismatch, prior.honest);
  return belief;
}

TEST(Belief, BeginsAsThePrior) {
  const Prior prior;
  const Belief belief(prior, prior.honest);
  EXPECT_DOUBLE_EQ(belief.honest(), 0.9);
  EXPECT_DOUBLE_EQ(belief.mean(), 0.1 * 0.25);
  EXPECT_DOUBLE_EQ(belief.cdf(0), 0.9);
  EXPECT_EQ(belief.quantile(0.9), 0);
  EXPECT_NEAR(belief.cdf(0.5), 0.9 + 0.1 * (1 - std::pow(0.5, 3)), 1e-12);  // Beta(1, 3)
}

TEST(Belief, HasTheClosedFormsOfAMixtureWhereNothingIsForgotten) {
  Prior prior = steady();
  prior.b = 1;
  const int n = 20;
  const Belief belief = after(prior, n, 0);
  // Beta(1, 1): P(n matches | cheats) = 1 / (n + 1); afterwards Beta(1, n + 1).
  const double by_honest = 0.9 * std::pow(1 - prior.error - prior.fault, n);
  const double honest = by_honest / (by_honest + 0.1 / (n + 1));
  EXPECT_NEAR(belief.honest(), honest, 1e-12);
  EXPECT_NEAR(belief.mean(), (1 - honest) / (n + 2), 1e-12);
  EXPECT_NEAR(belief.cdf(0.1), honest + (1 - honest) * (1 - std::pow(0.9, n + 1)), 1e-12);
  EXPECT_NEAR(belief.cdf(belief.quantile(0.9999)), 0.9999, 1e-9);
}

TEST(Belief, RisesWithAMismatchAndFallsWithAMatch) {
  const Prior prior;
  for (const int matches : {0, 1, 10, 100, 1000}) {
    Belief belief = after(prior, matches, 0);
    const double before = belief.mean();
    belief.observe(Outcome::kUnavailable, prior.honest);
    const double silent = belief.mean();
    EXPECT_GT(silent, before) << matches;
    const double caught = after(prior, matches, 1).mean();
    EXPECT_GT(caught, silent) << matches;  // worse than silence, which honest ones know as well
    EXPECT_LT(after(prior, matches, 1).honest(), 0.01) << matches;
    belief.observe(Outcome::kMatch, prior.honest);
    EXPECT_LT(belief.mean(), silent) << matches;
  }
}

TEST(Belief, IsNeverSurerThanItsForgettingAllows) {
  const Prior prior;
  const Belief trusted = after(prior, 5000, 0);
  EXPECT_GT(trusted.honest(), 0.98);
  // Even after 5000 matches it may have turned since the last one but a few.
  EXPECT_GT(trusted.mean(), prior.turn * (1 - prior.honest) * 0.25 / 2);
  Belief late = trusted;
  late.drift(90, prior.honest);
  EXPECT_NEAR(late.honest(), (trusted.honest() + 0.9) / 2, 1e-9);  // one half-life
  late.drift(90 * 60, prior.honest);
  EXPECT_NEAR(late.mean(), 0.1 * 0.25, 1e-9);
}

TEST(Belief, ForgivesAfterEnoughMatches) {
  const Prior prior;
  EXPECT_LT(after(prior, 100, 1).honest(), 0.01);
  Belief belief = after(prior, 100, 1);
  for (int i = 0; i < 300; ++i) belief.observe(Outcome::kMatch, prior.honest);
  EXPECT_GT(belief.honest(), 0.8);
  for (int i = 0; i < 700; ++i) belief.observe(Outcome::kMatch, prior.honest);
  EXPECT_GT(belief.honest(), 0.95);
}

TEST(Belief, SeesTrustTurnIntoCheatingAsSoonAsSomeoneWithoutAPast) {
  const Prior prior;
  for (const int trust : {0, 100, 1000}) {
    Belief belief = after(prior, trust, 3);
    EXPECT_GT(belief.mean(), 0.4) << trust;
    EXPECT_LT(belief.honest(), 1e-3) << trust;
  }
}

TEST(Belief, QuantilesInvertTheDistribution) {
  const Prior prior;
  const Belief belief = after(prior, 30, 2);
  double last = 0;
  for (double q = 0.02; q < 1; q += 0.02) {
    const double x = belief.quantile(q);
    EXPECT_GE(x, last);
    last = x;
    EXPECT_GE(belief.cdf(x), q - 1e-12);
    if (x > 0) {
      EXPECT_LE(belief.cdf(x - 1e-9), q + 1e-6);
    }
  }
}

TEST(Belief, RefusesPriorsOutOfRangeByName) {
  Prior prior;
  prior.b = 0;
  EXPECT_EQ(prior.validity().error().message, "b: 0, expected 0.001 to 1000000");
  prior = {};
  prior.honest = std::nan("");
  EXPECT_FALSE(prior.validity());
}

/// A provider drawn from the prior, that turns as the prior says.
class Drawn {
 public:
  Drawn(const Prior& prior, core::Rng& rng) : prior_(prior), rng_(rng) { begin_anew(); }
  double rate() const { return rate_; }
  void pass(double days) {
    if (rng_.next_unit() > std::exp2(-days / prior_.half_life_days)) begin_anew();
  }
  Outcome audited() {
    if (rng_.next_unit() < prior_.turn) begin_anew();
    const double u = rng_.next_unit();
    if (rate_ == 0) {
      if (u < prior_.error) return Outcome::kMismatch;
      return u < prior_.error + prior_.fault ? Outcome::kUnavailable : Outcome::kMatch;
    }
    if (u >= rate_) return Outcome::kMatch;
    return rng_.next_unit() < prior_.silent ? Outcome::kUnavailable : Outcome::kMismatch;
  }

 private:
  void begin_anew() {
    rate_ = 0;
    // Beta(1, 3): the least of three uniform draws.
    if (rng_.next_unit() < prior_.honest) return;
    rate_ = std::min({rng_.next_unit(), rng_.next_unit(), rng_.next_unit()});
  }
  const Prior& prior_;
  core::Rng& rng_;
  double rate_ = 0;
};

// 6000 providers: a right belief covers the true rate as often as it says, within 4.5 deviations.
TEST(Belief, CoversTheTrueRateAsOftenAsItSays) {
  Prior prior;
  prior.honest = 0.3;
  prior.turn = 0.05;
  prior.half_life_days = 20;
  core::CounterRng rng(20261120);
  constexpr int kProviders = 6000;
  int inside[3] = {};
  int covered = 0;
  const double masses[3] = {0.5, 0.8, 0.95};
  for (int i = 0; i < kProviders; ++i) {
    Drawn drawn(prior, rng);
    Belief belief(prior, prior.honest);
    for (int audits = static_cast<int>(rng.next_unit() * 30); audits > 0; --audits) {
      const double days = rng.next_unit();
      drawn.pass(days);
      belief.drift(days, prior.honest);
      belief.observe(drawn.audited(), prior.honest);
    }
    // The probability integral transform; within an atom, uniform.
    const double at = belief.cdf(drawn.rate());
    const double u = drawn.rate() > 0 ? at : at * rng.next_unit();
    for (int j = 0; j < 3; ++j) inside[j] += std::abs(u - 0.5) < masses[j] / 2;
    if (i % 20 != 0) continue;  // the intervals themselves, atoms included: never less often
    const auto [low, high] = belief.interval(0.8);
    covered += low <= drawn.rate() && drawn.rate() <= high;
  }
  for (int j = 0; j < 3; ++j) {
    const double deviation = std::sqrt(masses[j] * (1 - masses[j]) / kProviders);
    EXPECT_NEAR(inside[j] / double{kProviders}, masses[j], 4.5 * deviation) << masses[j];
  }
  EXPECT_GE(covered, 300 * 0.8 - 4.5 * std::sqrt(300 * 0.8 * 0.2));
}

}  // namespace
}  // namespace commensal::risk
