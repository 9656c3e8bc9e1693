// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/guest_facts.hpp>

namespace commensal::apps {

void Pace::add(double now_s, double value) {
  last_ = {now_s, value};
  if (points_.empty() || now_s - points_.back().at_s >= window_s_ / 60) points_.push_back(last_);
  while (now_s - points_.front().at_s > window_s_) points_.pop_front();
}

std::optional<double> Pace::per_s() const {
  if (points_.empty() || last_.at_s - points_.front().at_s < 1) return std::nullopt;
  return (last_.value - points_.front().value) / (last_.at_s - points_.front().at_s);
}

guest::Report GuestFacts::add(double now_s, const provider::ProviderStatus& status) {
  guest::Report made{.wants = status.queued > 0, .served = status.delivered};
  served_.add(now_s, static_cast<double>(status.delivered));
  made.served_per_s = served_.per_s();
  if (status.tickets.issued == 0) return made;  // this gateway does not pay, or has not yet
  const protocol::Amount& expected = status.tickets.expected;
  earned_.add(now_s,
              static_cast<double>(expected.high()) * 0x1p64 + static_cast<double>(expected.low()));
  const auto per_s = earned_.per_s();
  if (per_s) made.earned_per_hour = *per_s * 3600;
  return made;
}

}  // namespace commensal::apps
