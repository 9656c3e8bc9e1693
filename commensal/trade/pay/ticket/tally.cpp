// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/pay/ticket/tally.hpp>

namespace commensal::ticket {
namespace {

constexpr std::uint64_t kMinuteMs = 60'000, kMinutes = 60;
constexpr std::uint64_t kSpanMsMin = 1'000;  // one ticket alone is no rate

}  // namespace

void Pace::add(std::uint64_t minute, const Slice& slice) {
  Slice& sum = slices_.try_emplace(minute, Slice{slice.first_ms, 0}).first->second;
  sum.first_ms = std::min(sum.first_ms, slice.first_ms);
  sum.tickets += slice.tickets;
  while (slices_.begin()->first + kMinutes < slices_.rbegin()->first) {
    slices_.erase(slices_.begin());
  }
}

void Pace::see(const Record& record) {
  if (record.committed_ms >= youngest_ms_) {
    youngest_ms_ = record.committed_ms;
    threshold_ = record.win_threshold;
  }
  add(record.committed_ms / kMinuteMs, {record.committed_ms, 1});
}

void Pace::join(const Pace& other) {
  for (const auto& [minute, slice] : other.slices_) add(minute, slice);
  if (other.youngest_ms_ < youngest_ms_) return;
  youngest_ms_ = other.youngest_ms_;
  threshold_ = other.threshold_;
}

double Pace::per_second(std::uint64_t now_ms) const {
  std::uint64_t tickets = 0, oldest_ms = now_ms;
  for (const auto& [minute, slice] : slices_) {
    if (slice.first_ms + kMinutes * kMinuteMs < now_ms) continue;
    tickets += slice.tickets;
    oldest_ms = std::min(oldest_ms, slice.first_ms);
  }
  const std::uint64_t span_ms = std::max(now_ms - oldest_ms, kSpanMsMin);
  return 1000.0 * static_cast<double>(tickets) / static_cast<double>(span_ms);
}

std::size_t Tally::awaited() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kStates; ++i) {
    if (!is_settled(static_cast<State>(i))) sum += counts_[i];
  }
  return sum;
}

/// Unsigned sums wrap: adding the greatest number takes one away.
void Tally::change(const Record& record, std::uint64_t by) {
  counts_[static_cast<std::size_t>(record.state)] += by;
  if (is_settled(record.state)) return;
  const auto at = waiting_.try_emplace({record.face_value, record.win_threshold}).first;
  (record.state <= State::kDrawn ? at->second.undrawn : at->second.claims) += by;
  if (at->second.undrawn + at->second.claims == 0) waiting_.erase(at);
}

}  // namespace commensal::ticket
