// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/design.hpp>

namespace commensal::governor {
namespace {

// Of an epoch beside the one before: a few long ones would be a matter of luck.
constexpr double kGrowth = 1.06;
constexpr double kLevelGrowth = 2;  // a cost need not be linear in the level
constexpr double kFearedSd = 2;
constexpr double kBelievedSd = 1.645;
// Of the upper end's width, in what is planned: all of it would show nearly every hour, and leave
// guests that cost little a good part of it.
constexpr double kShownShare = 0.7;
constexpr double kLongShare = 0.5;  // of a minute's cap, for one epoch

/// The largest share in [0, draw_max] that `fits`, which holds up to some share.
template <class Fits>
double largest(double most, const Fits& fits) {
  if (fits(most)) return most;
  double low = 0, high = most;
  for (int i = 0; i < 20; ++i) (fits((low + high) / 2) ? low : high) = (low + high) / 2;
  return low;
}

/// What the hour bears for the rest of it, at a level.
double bearable(const Rules& rules, const Hour& hour, const Known& known, double level) {
  const double feared = std::max(known.cost.mean, 0.0) + kBelievedSd * known.cost.sd;
  const double left_s = known.hour_left_s;
  const double promised_s = rules.promise * Hour::kSeconds;
  const auto fits = [&](double draw) {
    const double run_s = hour.run_s() + draw * left_s * level;
    const double variance = left_s * known.noise * draw / (1 - draw);
    return run_s * std::max(known.cost.mean, 0.0) <= rules.set_point * Hour::kSeconds &&
           run_s * feared <= promised_s &&
           run_s * std::max(known.cost.mean, 0.0) + kShownShare * hour.radius_s(variance) <=
               promised_s;
  };
  if (hour.lost_s() > promised_s) return 0;
  return largest(rules.draw_max, fits);
}

}  // namespace

Design design(const Rules& rules, const Hour& hour, const Known& known) {
  const double feared = std::min(1.0, std::max(known.cost.mean, 0.0) + kFearedSd * known.cost.sd);
  const double most_cost = known.level_tried > 0 ? feared : 1;
  const double minute_s = rules.minute_set_point * Minute::kSeconds;
  const double least_s = known.least_s;
  Design made;
  Plan& plan = made.plan;
  const double grown_s = known.seconds_before > 0 ? kGrowth * known.seconds_before : least_s;
  const double bearable_s = kLongShare * minute_s / std::max(most_cost, 1e-9);
  plan.seconds =
      std::clamp(std::min(grown_s, bearable_s), least_s, std::max(least_s, rules.epoch_max));
  plan.level = std::min(1.0, minute_s / (most_cost * plan.seconds));
  if (known.level_tried > 0) plan.level = std::min(plan.level, kLevelGrowth * known.level_tried);
  const double after_s = known.minute_run_s + plan.level * plan.seconds;
  if (after_s * most_cost > minute_s * (1 + 1e-9)) {
    made.why = "it may cost this minute no more";
    return made;
  }
  plan.draw = bearable(rules, hour, known, plan.level);
  if (known.drawn < rules.draw_first) plan.draw = std::min(plan.draw, rules.draw_explore);
  const double explore_s = rules.explore * rules.promise * Hour::kSeconds;
  const bool is_known_well = known.at_once.sd < rules.known_well * std::max(known.cost.mean, 0.0) ||
                             known.at_once.sd < rules.known_well * rules.set_point;
  const bool is_harmless = known.drawn >= rules.draw_first && feared <= rules.minute_set_point;
  const double explore = is_harmless ? rules.draw_harmless : rules.draw_explore;
  if (plan.draw < explore && !is_known_well && hour.explored_s() < explore_s) {
    plan.draw = explore;
    made.is_explored = true;
  }
  if (plan.draw < rules.draw_min) {
    plan.draw = 0;
    made.why = "it may cost this hour no more";
  }
  return made;
}

}  // namespace commensal::governor
