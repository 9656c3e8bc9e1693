// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/governor/epoch.hpp>

namespace commensal::governor {

bool Part::add(const probe::RateSample& sample) {
  const double begin_s = sample.at_s - sample.over_s;
  if (begin_s < begin_s_) return false;
  if (empty()) first_s_ = begin_s;
  last_s_ = sample.at_s;
  sum_ += sample.rate * sample.over_s;
  if (sample.signal != probe::Signal::kClock) sum_by_clock_ += sample.rate_by_clock * sample.over_s;
  weight_ += sample.over_s;
  is_throttled_ = is_throttled_ || sample.is_throttled;
  return true;
}

}  // namespace commensal::governor
