// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/trade/market/risk/answer.hpp>
#include <commensal/trade/market/risk/ranges.hpp>

namespace commensal::risk {
namespace {

/// No single number from outside makes anything certain.
constexpr double kSure = 1e-12;

double log_odds(double probability) {
  const double inside = std::clamp(probability, kSure, 1 - kSure);
  return std::log(inside) - std::log1p(-inside);
}

double bayes_factor(const Prediction& one) {
  return one.agrees ? one.agrees_if_right / one.agrees_if_wrong
                    : (1 - one.agrees_if_right) / (1 - one.agrees_if_wrong);
}

/// A replica that is right agrees with a right answer only; a wrong one with a wrong answer if they
/// collude.
double bayes_factor(const Replica& one) {
  const double rate = std::clamp(one.cheating_rate, kSure, 1 - kSure);
  const double same_if_wrong = rate * std::max(one.collusion, kSure);
  return one.agrees ? (1 - rate) / same_if_wrong : rate / (1 - same_if_wrong);
}

template <class Item>
core::Result<void> all_valid(std::string_view kind, const std::vector<Item>& items) {
  if (items.size() > kEvidenceMax) {
    return core::fail(core::ErrorCode::kResourceExhausted, "{}: {} items, at most {} are accepted",
                      kind, items.size(), kEvidenceMax);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto valid = items[i].validity();
    if (!valid) return core::in_context(fmt::format("{} {}", kind, i), valid.error());
  }
  return {};
}

template <class Item>
double add_factors(Figure& figure, std::string_view kind, std::string_view meaning,
                   const std::vector<Item>& items) {
  double sum = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double factor = bayes_factor(items[i]);
    figure.terms.push_back({fmt::format("{} {}", kind, i + 1), factor, meaning});
    sum += std::log(factor);
  }
  return sum;
}

double with_bets(Figure& figure, const std::vector<Bet>& bets, double rest) {
  double trust = 0;
  for (const Bet& bet : bets) trust += bet.trust;
  const double scale = trust > 1 ? 1 / trust : 1;
  double pooled = (1 - std::min(trust, 1.0)) * rest;
  for (std::size_t i = 0; i < bets.size(); ++i) {
    const double odds = log_odds(bets[i].on_right / (bets[i].on_right + bets[i].on_wrong));
    const double weight = bets[i].trust * scale;
    pooled += weight * odds;
    figure.terms.push_back({fmt::format("bet {}", i + 1), std::exp(weight * (odds - rest)),
                            "factor: (its odds / odds of the rest)^trust"});
  }
  return pooled;
}

}  // namespace

core::Result<void> Prediction::validity() const {
  return first_out_of_range({{"agrees_if_right", agrees_if_right, 1e-9, 1 - 1e-9},
                             {"agrees_if_wrong", agrees_if_wrong, 1e-9, 1 - 1e-9}});
}

core::Result<void> Replica::validity() const {
  return first_out_of_range(
      {{"cheating_rate", cheating_rate, 0, 1}, {"collusion", collusion, 0, 1}});
}

core::Result<void> Bet::validity() const {
  return first_out_of_range({{"on_right", on_right, 0, kUnitsMax},
                             {"on_wrong", on_wrong, 1e-9, kUnitsMax},
                             {"trust", trust, 0, 1}});
}

core::Result<void> Evidence::validity() const {
  COMMENSAL_TRY(all_valid("prediction", predictions));
  COMMENSAL_TRY(all_valid("replica", replicas));
  return all_valid("bet", bets);
}

Figure probability_right(double cheating_rate, const Evidence& evidence) {
  core::check(evidence.validity().has_value() && cheating_rate >= 0 && cheating_rate <= 1,
              "evidence out of its range");
  const double record = log_odds(1 - cheating_rate);
  Figure figure{"P(Y = F(X))",
                0,
                "odds of the record x the factors below",
                "Bayes",
                {{"record", std::exp(record), "odds that the provider did not cheat"}}};
  double sum = record;
  sum += add_factors(figure, "prediction", "factor: P(its word | right) / P(its word | wrong)",
                     evidence.predictions);
  sum += add_factors(figure, "replica", "factor: P(its answer | right) / P(its answer | wrong)",
                     evidence.replicas);
  sum = with_bets(figure, evidence.bets, sum);
  figure.value = 1 / (1 + std::exp(-sum));
  return figure;
}

}  // namespace commensal::risk
