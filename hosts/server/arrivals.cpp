// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <hosts/server/arrivals.hpp>

namespace hosts::server {

Arrivals::Arrivals(const Traffic& traffic, std::uint64_t seed) : traffic_(traffic), state_(seed) {}

double Arrivals::uniform() {
  // SplitMix64: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators",
  // 2014.
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return (static_cast<double>(z >> 12) + 0.5) * 0x1p-52;
}

double Arrivals::exponential(double mean) { return -mean * std::log(uniform()); }

Arrival Arrivals::next() {
  while (true) {
    const double gap = exponential(1 / (in_burst_ ? traffic_.burst_per_s : traffic_.calm_per_s));
    if (now_s_ + gap < state_ends_s_) {
      now_s_ += gap;
      break;
    }
    // An exponential gap forgets how long it has lasted: draw again from the change on.
    now_s_ = state_ends_s_;
    in_burst_ = !in_burst_;
    state_ends_s_ += exponential(in_burst_ ? traffic_.burst_s : traffic_.calm_s);
  }
  const double span = traffic_.work_ms_max - traffic_.work_ms_min;
  return {static_cast<std::int64_t>(now_s_ * 1e9), traffic_.work_ms_min + span * uniform()};
}

}  // namespace hosts::server
