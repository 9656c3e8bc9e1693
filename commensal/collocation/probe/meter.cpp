// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <commensal/collocation/probe/meter.hpp>

namespace commensal::probe {

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

std::optional<RateSample> Meter::add(const Sample& sample) {
  const double at_s = static_cast<double>(sample.at_ns) * 1e-9;
  if (!sample.is_fresh()) {
    kept_.clear();
    return std::nullopt;
  }
  if (traits_.quantity == Quantity::kRate)
    return RateSample{at_s, traits_.averaging_s, sample.value, sample.is_throttled};
  if (!kept_.empty() && sample.value < kept_.back().value) kept_.clear();
  const double hole_s = kept_.empty() ? 0 : at_s - static_cast<double>(kept_.back().at_ns) * 1e-9;
  if (hole_s > std::max(traits_.stale_after_s, window_s_)) kept_.clear();
  if (!kept_.empty() && sample.at_ns <= kept_.back().at_ns) return std::nullopt;
  kept_.push_back(sample);
  const auto is_old = [&](const Sample& one) {
    return static_cast<double>(sample.at_ns - one.at_ns) * 1e-9 >= window_s_;
  };
  while (kept_.size() > 2 && is_old(kept_[1])) kept_.pop_front();
  if (kept_.size() < 2 || !is_old(kept_.front())) return std::nullopt;
  const Sample& first = kept_.front();
  const double over_s = static_cast<double>(sample.at_ns - first.at_ns) * 1e-9;
  const double own_s = sample.own_s && first.own_s ? *sample.own_s - *first.own_s : over_s;
  if (own_s <= 0) return std::nullopt;  // nothing was worked on
  return RateSample{at_s, over_s, (sample.value - first.value) / own_s, sample.is_throttled};
}

}  // namespace commensal::probe
