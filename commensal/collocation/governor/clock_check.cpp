// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/clock_check.hpp>

namespace commensal::governor {
void ClockCheck::add(double now_s, const Epoch& epoch, const Belief::Exposure& guest, double rate) {
  if (!begin_s_ || now_s < now_s_) begin_s_ = now_s_ = now_s;
  if (now_s - *begin_s_ >= Hour::kSeconds) {
    begin_s_ = now_s;
    hour_ = Hour(rules_);
  }
  const double covered_s = std::max(epoch.covered_s, rules_.settle);
  const auto [seconds, level, draw] = epoch.plan;
  if (draw > 0 && belief_.is_known()) {
    const double odds = draw / (1 - draw);
    const double surprise = (rate - belief_.rate(guest)) / belief_.rate();
    const double contrast = epoch.is_on ? -surprise : surprise * odds;
    const double believed = epoch.is_on ? belief_.all().mean * level : 0;
    const double modelled = belief_.deviation(covered_s) * seconds * std::sqrt(odds);
    hour_.add((believed + contrast) * epoch.on_s,
              std::pow(std::max(std::abs(contrast) * epoch.on_s, modelled), 2));
  }
  (void)belief_.observe(rate, covered_s, now_s - now_s_, guest);
  now_s_ = now_s;
}

bool ClockCheck::is_above() const {
  return begin_s_ && lost_low_s() > rules_.set_point * (now_s_ - *begin_s_);
}

}  // namespace commensal::governor
