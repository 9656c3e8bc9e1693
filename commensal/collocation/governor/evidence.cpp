// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/evidence.hpp>

namespace commensal::governor {

bool Part::add(const probe::RateSample& sample) {
  const double begin_s = sample.at_s - sample.over_s;
  if (begin_s < begin_s_) return false;
  if (empty()) first_s_ = begin_s;
  last_s_ = sample.at_s;
  sum_ += sample.rate * sample.over_s;
  weight_ += sample.over_s;
  is_throttled_ = is_throttled_ || sample.is_throttled;
  return true;
}

void Evidence::add(const Cycle& cycle) {
  cycles_.push_back(cycle);
  total_s_ += cycle.seconds;
  while (cycles_.size() > 1 && total_s_ - cycles_.front().seconds > rules_.window_max) {
    total_s_ -= cycles_.front().seconds;
    cycles_.pop_front();
  }
  measure();
}

void Evidence::add_idle(double seconds) { add({seconds, 0, 0, 0}); }

void Evidence::measure() {
  // A mean over T seconds has the variance of one second, as the newest cycles show it, by T.
  const double sd_wanted = (rules_.promise - rules_.set_point) / rules_.confidence;
  double seconds = 0;
  double variance = 0;  // of the sum of losses, in seconds^2
  double sum = 0;
  bool has_run = false;
  double window = rules_.window_min;
  for (auto cycle = cycles_.rbegin(); cycle != cycles_.rend() && seconds < window; ++cycle) {
    seconds += cycle->seconds;
    sum += cycle->loss * cycle->on_s;
    has_run = has_run || cycle->on_s > 0;
    variance += cycle->sd * cycle->sd * cycle->on_s * cycle->on_s;
    window = std::max(rules_.window_min, variance / seconds / (sd_wanted * sd_wanted));
  }
  window_s_ = window;
  over_s_ = has_run ? seconds : 0;
  if (seconds <= 0) return;
  loss_ = sum / seconds;
  sd_ = std::sqrt(variance) / seconds;
}

bool Alarm::observe(const Cycle& cycle) {
  if (cycle.on_s <= 0 || cycle.sd <= 0) return false;
  const double allowed = (rules_.set_point + rules_.promise) / 2 * cycle.seconds / cycle.on_s;
  sum_ = std::max(0.0, sum_ + (cycle.loss - allowed) / cycle.sd);
  if (sum_ <= rules_.alarm) return false;
  reset();
  return true;
}

}  // namespace commensal::governor
