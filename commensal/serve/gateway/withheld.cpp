// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/withheld.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::gateway {

using ticket::State;

void Withheld::tick() {
  const std::int64_t now_ms = clock_.wall_ms();
  if (now_ms < next_look_ms_) return;
  next_look_ms_ = now_ms + kLookMs;
  Seen still;
  for (const State state : {State::kDrawn, State::kWon}) look(state, still);
  seen_ = std::move(still);
}

void Withheld::look(State state, Seen& still) {
  const std::int64_t before_ms = clock_.wall_ms() - Lottery::kWithheldMs;
  for (const ticket::Record& record : tickets_.in(state)) {
    if (static_cast<std::int64_t>(record.committed_ms) > before_ms) continue;
    const core::Digest receipt = protocol::receipt_id(record.body);
    if (!book_.contains(receipt)) continue;  // it was not delivered; it may be yet
    const auto seen = still.emplace(state, record.id()).first;
    const double chance = state == State::kWon ? 1 : ticket::probability_of(record.win_threshold);
    if (!seen_.contains(*seen) && rng_.next_unit() < chance) events_.push(event::AuditDue{receipt});
  }
}

}  // namespace commensal::gateway
