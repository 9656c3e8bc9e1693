// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/carried.hpp>

namespace commensal::governor {
namespace {

constexpr double kTenMinutes = 600;

double wandered(double sd, double drift, double seconds, double most) {
  return std::min(most, std::sqrt(sd * sd + drift * drift * seconds / kTenMinutes));
}

}  // namespace

Carried later(const Carried& carried, double seconds, const Rules& rules) {
  Carried made = carried;
  if (made.learnt) {
    Learnt& learnt = *made.learnt;
    learnt.cost_sd = wandered(learnt.cost_sd, rules.cost_drift, seconds, rules.first_cost_sd);
    learnt.lag_sd = wandered(learnt.lag_sd, rules.lag_drift, seconds, rules.lag_sd);
  }
  made.hour_s += seconds;
  if (made.hour_s >= Hour::kSeconds) {
    made.hour = {};
    made.hour_s = 0;
  }
  return made;
}

}  // namespace commensal::governor
