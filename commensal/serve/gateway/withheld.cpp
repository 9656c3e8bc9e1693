// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/withheld.hpp>

namespace commensal::gateway {

using ticket::State;

void Withheld::tick() {
  const std::int64_t now_ms = clock_.wall_ms();
  if (now_ms < next_look_ms_) return;
  next_look_ms_ = now_ms + kLookMs;
  Seen still;
  std::size_t left = kLooksMax;
  for (const State state : {State::kDrawn, State::kWon}) look(state, still, left);
  seen_ = std::move(still);
}

void Withheld::look(State state, Seen& still, std::size_t& left) {
  const std::int64_t before_ms = clock_.wall_ms() - Lottery::kWithheldMs;
  for (const ticket::Record& record : tickets_.in(state)) {
    if (static_cast<std::int64_t>(record.committed_ms) > before_ms) continue;
    const std::pair key(state, record.id());
    if (!seen_.contains(key)) {
      if (left == 0) continue;  // the next time
      --left;
      const core::Digest receipt = protocol::receipt_id(record.body);
      if (!book_.contains(receipt)) continue;  // it was not delivered; it may be yet
      events_.push(event::AuditDue{receipt});
    }
    still.insert(key);
  }
}

}  // namespace commensal::gateway
