// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/guest/facts.hpp>

namespace commensal::guest {

void Pace::add(double now_s, double value) {
  last_ = {now_s, value};
  if (points_.empty() || now_s - points_.back().at_s >= window_s_ / 60) points_.push_back(last_);
  while (now_s - points_.front().at_s > window_s_) points_.pop_front();
}

std::optional<double> Pace::per_s() const {
  if (points_.empty() || last_.at_s - points_.front().at_s < 1) return std::nullopt;
  return (last_.value - points_.front().value) / (last_.at_s - points_.front().at_s);
}

Report Facts::add(double now_s, const Work& work) {
  // Who has answered since the last look was at work in between, however short its requests are.
  const bool has_answered = last_served_ && work.served > *last_served_;
  last_served_ = work.served;
  Report made{.wants = work.waiting > 0 || has_answered, .served = work.served};
  served_.add(now_s, static_cast<double>(work.served));
  made.served_per_s = served_.per_s();
  if (!work.earned) return made;
  earned_.add(now_s, *work.earned);
  if (const auto per_s = earned_.per_s()) made.earned_per_hour = *per_s * 3600;
  return made;
}

}  // namespace commensal::guest
