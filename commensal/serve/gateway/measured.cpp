// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/measured.hpp>

namespace commensal::gateway {
namespace {

double weight_after(std::int64_t age_ms) {
  return std::exp(-static_cast<double>(age_ms) / limits::kSpeedFadesMs);
}

}  // namespace

/// What is late for reasons of its own (a disk, another job's bytes before it) says little of the
/// way: the shortest counts most.
void Link::on_delivery(double took_ms, std::uint64_t bytes, std::int64_t now_ms) {
  constexpr std::uint64_t kSmallBytes = 64 << 10, kLargeBytes = 1 << 20;
  constexpr double kShorter = 1.0 / 2, kLonger = 1.0 / 16, kNewest = 1.0 / 4, kMsMin = 0.1;
  last_ms_ = now_ms;
  if (bytes <= kSmallBytes) {
    const bool is_first = round_trip_ms_ < 0;
    const double share = is_first ? 1 : took_ms < round_trip_ms_ ? kShorter : kLonger;
    round_trip_ms_ += share * (took_ms - round_trip_ms_);
  }
  if (bytes < kLargeBytes) return;
  const double way_ms = std::max(kMsMin, took_ms - std::max(0.0, round_trip_ms_));
  const double pace = static_cast<double>(bytes) / way_ms;
  bytes_per_ms_ += (bytes_per_ms_ > 0 ? kNewest : 1) * (pace - bytes_per_ms_);
}

double Link::ms_for(std::uint64_t bytes, std::int64_t now_ms) const {
  constexpr double kTickMs = 5;  // less is no difference
  const double trip_ms = std::max(0.0, round_trip_ms_ - kTickMs);
  const double bytes_ms = bytes_per_ms_ > 0 ? static_cast<double>(bytes) / bytes_per_ms_ : 0;
  return (trip_ms + bytes_ms) * weight_after(now_ms - last_ms_);
}

void Speeds::on_answer(const std::string& model, double took_ms, std::uint32_t ahead,
                       std::uint64_t bytes, std::int64_t now_ms) {
  if (!speeds_.contains(model) && speeds_.size() >= limits::kSpeedsMax) {
    speeds_.erase(std::ranges::min_element(speeds_, {},
                                           [](const auto& item) { return item.second.last_ms; }));
  }
  Speed& speed = speeds_[model];
  speed.time.slowness_of(took_ms, ahead, bytes);
  ++speed.answers;
  speed.last_ms = now_ms;
}

Speeds::Known Speeds::known(const std::string& model, std::uint64_t bytes,
                            std::int64_t now_ms) const {
  constexpr std::uint32_t kAnswersMin = 4;
  const auto found = speeds_.find(model);
  if (found == speeds_.end() || found->second.answers < kAnswersMin) return {};
  return {found->second.time.ms_for(bytes), weight_after(now_ms - found->second.last_ms)};
}

std::optional<Speeds::Measured> Speeds::measured(const std::string& model) const {
  const auto found = speeds_.find(model);
  if (found == speeds_.end()) return std::nullopt;
  UsualTime none;  // of jobs that took no time: what is added to each
  none.slowness_of(0, 0, 0);
  return Measured{found->second.time.ms_for(0) - none.ms_for(0), found->second.answers};
}

}  // namespace commensal::gateway
