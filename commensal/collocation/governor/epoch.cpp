// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/epoch.hpp>
#include <utility>

namespace commensal::governor {

bool Part::add(const probe::RateSample& sample) {
  const double begin_s = sample.at_s - sample.over_s;
  if (begin_s < begin_s_) return false;
  if (empty()) first_s_ = begin_s;
  last_s_ = sample.at_s;
  sum_ += sample.rate * sample.over_s;
  if (sample.signal != probe::Signal::kClock) sum_by_clock_ += sample.rate_by_clock * sample.over_s;
  sum_given_ += sample.given * sample.over_s;
  weight_ += sample.over_s;
  is_throttled_ = is_throttled_ || sample.is_throttled;
  return true;
}

void Scatter::add(double share, double seconds) {
  constexpr int kMemory = 60;
  const auto before = std::exchange(last_, share);
  if (!before) return;
  count_ = std::min(count_ + 1, kMemory);
  variance_ += (std::pow(share - *before, 2) * seconds / 2 - variance_) / count_;
}

}  // namespace commensal::governor
