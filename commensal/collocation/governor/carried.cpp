// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/carried.hpp>

namespace commensal::governor {
namespace {

constexpr double kTenMinutes = 600;
constexpr double kWandersS = 3600;  // what a cost does for longer than so it has done before

double wandered(double sd, double drift, double seconds, double most) {
  const double ten_minutes = std::min(seconds, kWandersS) / kTenMinutes;
  return std::min(most, std::sqrt(sd * sd + drift * drift * ten_minutes));
}

}  // namespace

Carried later(const Carried& carried, double seconds, const Rules& rules) {
  Carried made = carried;
  if (made.learnt) {
    Learnt& learnt = *made.learnt;
    const double both = learnt.correlation * learnt.cost_sd * learnt.lag_sd;
    learnt.cost_sd = wandered(learnt.cost_sd, rules.cost_drift, seconds, rules.first_cost_sd);
    learnt.lag_sd = wandered(learnt.lag_sd, rules.lag_drift, seconds, rules.lag_sd);
    const double product = learnt.cost_sd * learnt.lag_sd;
    learnt.correlation = product > 0 ? both / product : 0;
  }
  if (seconds >= Minute::kSeconds) made.minute_run_s = 0;
  if (seconds >= rules.back_off_max) made.back_off_s = 0;
  made.rest_s = std::max(0.0, made.rest_s - seconds);
  made.hour_s += seconds;
  if (made.hour_s >= Hour::kSeconds) {
    made.hour = {};
    made.hour_s = 0;
  }
  return made;
}

}  // namespace commensal::governor
