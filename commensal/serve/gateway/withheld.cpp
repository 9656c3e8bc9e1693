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
  for (const State state : {State::kDrawn, State::kWon}) look(state, still, kLooksMax);
  seen_ = std::move(still);
}

/// Goes on where it came to the last time, so that what is not delivered keeps nobody from the
/// rest.
void Withheld::look(State state, Seen& still, std::size_t left) {
  const std::int64_t before_ms = clock_.wall_ms() - Lottery::kWithheldMs;
  const std::vector<ticket::Record> all = tickets_.in(state);
  std::size_t& from = from_[state];
  const std::size_t first = all.empty() ? 0 : std::exchange(from, 0) % all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t at = (first + i) % all.size();
    const ticket::Record& record = all[at];
    const std::pair key(state, record.id());
    if (static_cast<std::int64_t>(record.committed_ms) > before_ms) continue;
    if (seen_.contains(key)) {
      still.insert(key);
    } else if (left > 0) {
      if (--left == 0) from = at + 1;
      const core::Digest receipt = protocol::receipt_id(record.body);
      if (!book_.contains(receipt)) continue;  // it was not delivered; it may be yet
      events_.push(event::AuditDue{receipt});
      still.insert(key);
    }
  }
}

}  // namespace commensal::gateway
