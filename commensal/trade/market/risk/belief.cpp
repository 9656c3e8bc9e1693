// SPDX-License-Identifier: Apache-2.0
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/trade/market/risk/belief.hpp>
#include <commensal/trade/market/risk/ranges.hpp>

namespace commensal::risk {
namespace {

using protocol::Outcome;

/// Parts lighter than this change no digit that anyone prints.
constexpr double kWeightMin = 1e-15;

/// P(outcome | answers honestly), in the order of Outcome.
double honest_likelihood(const Prior& prior, Outcome outcome) {
  const double of[] = {1 - prior.error - prior.fault, prior.error, prior.fault};
  return of[static_cast<std::size_t>(outcome)];
}

/// P(outcome | cheats at this expected rate). A failure of its honest answers is left out: beside
/// the rate it is nothing, and without it the Beta stays a Beta.
double cheater_likelihood(const Prior& prior, Outcome outcome, double rate) {
  const double of[] = {1 - rate, rate * (1 - prior.silent), rate * prior.silent};
  return of[static_cast<std::size_t>(outcome)];
}

double beta_cdf(double a, double b, double x) {
  namespace policies = boost::math::policies;
  using Quiet = policies::policy<policies::domain_error<policies::ignore_error>,
                                 policies::overflow_error<policies::ignore_error>,
                                 policies::evaluation_error<policies::ignore_error>>;
  return boost::math::ibeta(a, b, x, Quiet());
}

}  // namespace

core::Result<void> Prior::validity() const {
  return first_out_of_range({{"honest", honest, 0, 1},
                             {"a", a, 1e-3, 1e6},
                             {"b", b, 1e-3, 1e6},
                             {"error", error, 1e-15, 0.5},
                             {"fault", fault, 1e-15, 0.49},
                             {"silent", silent, 0.001, 0.999},
                             {"turn", turn, 0, 1},
                             {"half_life_days", half_life_days, 1e-3, 1e9},
                             {"stake_reference", stake_reference, 0, kUnitsMax},
                             {"age_reference_days", age_reference_days, 0, 1e9},
                             {"factor_min", factor_min, 0, 1}});
}

Belief::Belief(const Prior& prior, double honest) : prior_(prior), runs_{{1, honest, 0, 0}} {
  core::check(prior.validity().has_value(), "a prior out of its range");
}

void Belief::turn(double probability, double honest) {
  for (Run& run : runs_) run.weight *= 1 - probability;
  Run& newest = runs_.front();
  if (newest.matches == 0 && newest.failures == 0) {  // nothing has been seen since then either
    const double weight = newest.weight + probability;
    if (weight > 0) {
      newest.honest = (newest.weight * newest.honest + probability * honest) / weight;
    }
    newest.weight = weight;
    return;
  }
  runs_.insert(runs_.begin(), Run{probability, honest, 0, 0});
}

void Belief::drift(double days, double honest) {
  if (days > 0) turn(-std::expm1(-days / prior_.half_life_days * std::log(2.0)), honest);
}

void Belief::observe(Outcome outcome, double honest) {
  turn(prior_.turn, honest);
  const double seen_honest = honest_likelihood(prior_, outcome);
  double evidence = 0;
  for (Run& run : runs_) {
    const double rate =
        (prior_.a + run.failures) / (prior_.a + prior_.b + run.matches + run.failures);
    const double by_honest = run.honest * seen_honest;
    const double seen = by_honest + (1 - run.honest) * cheater_likelihood(prior_, outcome, rate);
    run.honest = seen > 0 ? by_honest / seen : run.honest;
    run.weight *= seen;
    (outcome == Outcome::kMatch ? run.matches : run.failures) += 1;
    evidence += run.weight;
  }
  core::check(evidence > 0, "an outcome that the prior rules out");
  for (Run& run : runs_) run.weight /= evidence;
  bound();
}

void Belief::bound() {
  std::erase_if(runs_, [](const Run& run) { return run.weight < kWeightMin; });
  while (runs_.size() > kRunsMax) {
    const Run oldest = runs_.back();
    runs_.pop_back();
    Run& rest = runs_.back();
    const double weight = rest.weight + oldest.weight;
    const double share = rest.weight / weight;
    rest.honest = share * rest.honest + (1 - share) * oldest.honest;
    rest.matches = share * rest.matches + (1 - share) * oldest.matches;
    rest.failures = share * rest.failures + (1 - share) * oldest.failures;
    rest.weight = weight;
  }
}

double Belief::honest() const {
  double sum = 0;
  for (const Run& run : runs_) sum += run.weight * run.honest;
  return sum;
}

double Belief::mean() const {
  double sum = 0;
  for (const Run& run : runs_) {
    sum += run.weight * (1 - run.honest) * (prior_.a + run.failures) /
           (prior_.a + prior_.b + run.matches + run.failures);
  }
  return sum;
}

double Belief::cdf(double x) const {
  if (x < 0) return 0;
  if (x >= 1) return 1;
  double sum = 0;
  for (const Run& run : runs_) {
    const double below = beta_cdf(prior_.a + run.failures, prior_.b + run.matches, x);
    sum += run.weight * (run.honest + (1 - run.honest) * below);
  }
  return sum;
}

double Belief::quantile(double q) const {
  if (q <= cdf(0)) return 0;
  double low = 0;
  double high = 1;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (cdf(middle) >= q ? high : low) = middle;
  }
  return high;
}

Belief::Interval Belief::interval(double mass) const {
  return {quantile((1 - mass) / 2), quantile((1 + mass) / 2)};
}

}  // namespace commensal::risk
