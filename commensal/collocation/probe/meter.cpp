// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <commensal/collocation/probe/meter.hpp>

namespace commensal::probe {
namespace {

double seconds_between(const Sample& one, const Sample& other) {
  return static_cast<double>(other.at_ns - one.at_ns) * 1e-9;
}

bool goes_back(const std::optional<double>& before, const std::optional<double>& now) {
  return before.has_value() != now.has_value() || (now && *now < *before);
}

std::optional<double> needed(const Sample& sample) {
  return sample.host ? std::optional(sample.host->needed_s()) : std::nullopt;
}

}  // namespace

Sample Liveness::judge(std::int64_t now_ns, const Figure& figure) {
  const double sign = figure.uptime_s.value_or(figure.value);
  if (sign_ != sign) {
    sign_ = sign;
    changed_ns_ = now_ns;
  }
  const double still_s = static_cast<double>(now_ns - changed_ns_) / 1e9;
  if (still_s <= stale_after_s_) return {now_ns, figure.value, State::kFresh, {}, figure.own_s};
  return {now_ns, figure.value, State::kStale,
          fmt::format(
              "{} for {:.0f} s",
              figure.uptime_s ? "the program's clock has stood still" : "the figure has not moved",
              still_s),
          figure.own_s};
}

Meter::Meter(const Traits& traits, double window_s)
    : traits_(traits), window_s_(traits.averaging_s > 0 ? traits.averaging_s : window_s) {}

bool Meter::keep(const Sample& sample) {
  const bool is_work = traits_.quantity == Quantity::kWork;
  if (!kept_.empty()) {
    const Sample& last = kept_.back();
    const bool is_other = (is_work && sample.value < last.value) ||
                          goes_back(last.own_s, sample.own_s) ||
                          goes_back(needed(last), needed(sample));
    if (!is_other && sample.at_ns <= last.at_ns) return false;
    if (is_other || seconds_between(last, sample) > std::max(traits_.stale_after_s, window_s_))
      kept_.clear();
  }
  kept_.push_back(sample);
  while (kept_.size() > 2 && seconds_between(kept_[1], sample) >= window_s_) kept_.pop_front();
  return kept_.size() > 1 && seconds_between(kept_.front(), sample) >= window_s_;
}

std::optional<RateSample> Meter::add(const Sample& sample) {
  if (!sample.is_fresh()) {
    kept_.clear();
    return std::nullopt;
  }
  const bool is_rate = traits_.quantity == Quantity::kRate;
  const double at_s = static_cast<double>(sample.at_ns) * 1e-9;
  RateSample made{at_s, traits_.averaging_s, sample.value, sample.is_throttled, sample.value};
  const bool is_kept = keep(sample);
  if (is_rate && !sample.host) return made;
  if (!is_kept) return std::nullopt;
  const Sample& first = kept_.front();
  const double kept_s = seconds_between(first, sample);
  double spent_s = kept_s;
  if (sample.own_s) {
    made.signal = Signal::kOwnTime;
    spent_s = *sample.own_s - *first.own_s;
  } else if (sample.host) {
    made.signal = Signal::kNeededTime;
    spent_s = sample.host->needed_s() - first.host->needed_s();
    made.given = (sample.host->run_s - first.host->run_s) / spent_s;
  }
  if (spent_s <= 0) return std::nullopt;  // nothing was worked on
  if (!is_rate) {
    made.over_s = kept_s;
    made.rate_by_clock = (sample.value - first.value) / kept_s;
  }
  made.rate = made.rate_by_clock * kept_s / spent_s;
  return made;
}

}  // namespace commensal::probe
