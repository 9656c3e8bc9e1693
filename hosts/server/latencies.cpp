// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <hosts/server/latencies.hpp>

namespace hosts::server {

Quantiles quantiles_of(std::vector<double> values_ms) {
  Quantiles made;
  made.count = values_ms.size();
  if (values_ms.empty()) return made;
  const auto at = [&](double q) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(made.count)));
    const auto place = values_ms.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1UL) - 1);
    std::nth_element(values_ms.begin(), place, values_ms.end());
    return *place;
  };
  made.p50_ms = at(0.5);
  made.p99_ms = at(0.99);
  made.p999_ms = at(0.999);
  return made;
}

void Latencies::add(std::int64_t done_ns, Latency latency) {
  kept_.push_back({done_ns, latency});
  if (kept_.size() > kKeptMax) kept_.pop_front();
  ++count_;
  sum_ms_ += latency.ms;
}

Quantiles Latencies::window(std::int64_t now_ns) const {
  std::vector<double> values;
  for (auto it = kept_.rbegin(); it != kept_.rend() && it->done_ns > now_ns - window_ns_; ++it)
    values.push_back(it->latency.ms);
  return quantiles_of(std::move(values));
}

Quantiles Latencies::all() const {
  std::vector<double> values;
  for (const One& one : kept_) values.push_back(one.latency.ms);
  return quantiles_of(std::move(values));
}

std::vector<Latency> Latencies::take() {
  const std::uint64_t news = count_ - taken_;
  taken_ = count_;
  std::vector<Latency> values;
  const auto left =
      static_cast<std::ptrdiff_t>(std::min<std::uint64_t>({news, kept_.size(), kTakenMax}));
  for (auto it = kept_.end() - left; it != kept_.end(); ++it) values.push_back(it->latency);
  return values;
}

}  // namespace hosts::server
