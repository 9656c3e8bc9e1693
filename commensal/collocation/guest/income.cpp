// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/guest/income.hpp>

namespace commensal::guest {
namespace {

constexpr double kRanLeast = 0.001;  // of the time at full speed: less tells nothing
constexpr double kHolds = 3600;

}  // namespace

std::optional<double> host_loses(std::optional<double> host_per_hour,
                                 const governor::Status& status) {
  if (!host_per_hour || status.hour_s <= 0) return std::nullopt;
  const double cost = std::max(0.0, status.cost) + std::max(0.0, status.lag) + status.cost_sd;
  return *host_per_hour * std::min(1.0, cost);
}

std::string_view why_not_worth(const Incomes& incomes) {
  if (!incomes.guests_at_full || !incomes.host_loses) return {};
  if (*incomes.guests_at_full > *incomes.host_loses) return {};
  return "guests earn less than the host would lose";
}

void FullIncome::add(double now_s, double level, bool want, std::optional<double> earned_per_hour) {
  const double passed_s = last_s_ ? now_s - *last_s_ : 0;
  const bool runs = want && level > 0;
  if (runs) run_s_ += passed_s * level;
  last_s_ = now_s;
  ran_.add(now_s, run_s_);
  const double ran = ran_.per_s().value_or(0);
  if (runs && earned_per_hour && ran >= kRanLeast) {
    per_hour_ = *earned_per_hour / ran;
    known_s_ = now_s;
  }
  if (now_s - known_s_ > kHolds) per_hour_.reset();
}

}  // namespace commensal::guest
