// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/provider/recourse.hpp>

namespace commensal::provider {
namespace {

/// The ledger's clock is not ours: what came too early would wait for another delay.
constexpr std::int64_t kSlackMs = 1'000;

}  // namespace

core::Result<std::optional<ledger::Body>> Recourse::next(const beacon::TwoPartyBeacon& beacon,
                                                         std::uint64_t reveal_delay_ms) {
  const std::int64_t now_ms = clock_.wall_ms();
  const std::int64_t delay_ms = static_cast<std::int64_t>(reveal_delay_ms) + kSlackMs;
  cases_.erase(cases_.begin(), cases_.upper_bound(beacon.closed_round()));
  for (const ticket::Record& record : tickets_.waiting(beacon.id(), beacon.closed_round())) {
    const std::uint64_t round = record.body.round;
    const bool overdue = static_cast<std::int64_t>(record.committed_ms) + reveal_ms_max_ <= now_ms;
    const auto found = cases_.find(round);
    if (found == cases_.end() && !overdue) continue;
    COMMENSAL_ASSIGN(const protocol::Receipt receipt, tickets_.receipt(record.id()));
    if (found == cases_.end()) {
      cases_[round].asked_ms = now_ms;
      return ledger::Demand{receipt};
    }
    Case& made = found->second;
    if (now_ms < made.asked_ms + delay_ms) continue;
    if (made.claimed.insert(record.id()).second) return ledger::Default{receipt, {}};
    // Claimed and still not paid: the ledger refused something. From the beginning.
    if (now_ms >= made.asked_ms + 2 * delay_ms) made = Case{now_ms, {}};
    if (made.asked_ms == now_ms) return ledger::Demand{receipt};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Recourse::missing_round() const {
  if (cases_.empty()) return std::nullopt;
  return cases_.begin()->first;
}

}  // namespace commensal::provider
