// SPDX-License-Identifier: Apache-2.0
// What becomes of a Lottery's tickets without a draw or a verdict: a reveal that was withheld from
// their provider, winners that nobody has judged in time.
#include <algorithm>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::gateway {

using core::Result;
using ticket::Event;
using ticket::State;

/// Once halfway, so that nobody is paid by staying away from its audit; then the ledger's rule.
void Lottery::look_at_winners() {
  const auto now_ms = static_cast<std::uint64_t>(world_.clock.wall_ms());
  if (now_ms < next_look_ms_) return;
  const ledger::State& state = world_.bank.state();
  const std::uint64_t half_ms = state.scalars.config.audit_delay_ms / 2;
  next_look_ms_ = now_ms + half_ms + 1;  // what is opened later is not due before
  for (const ticket::Record& record : tickets_.in(State::kOpened)) {
    const core::Digest id = record.id();
    const core::Digest receipt = protocol::receipt_id(record.body);
    const ledger::ClaimRow* const claim = state.claims.find(id);
    const bool is_open = claim != nullptr && claim->status == ledger::ClaimStatus::kOpen;
    if (!is_open || !world_.was_delivered(receipt)) continue;
    const std::uint64_t due_ms = claim->mature_ms, late_ms = due_ms - std::min(due_ms, half_ms);
    if (now_ms < late_ms) {
      next_look_ms_ = std::min(next_look_ms_, late_ms);
    } else if (now_ms < due_ms) {
      if (auto begun = world_.audit_alone(receipt); !begun) world_.report(begun.error());
      next_look_ms_ = std::min(next_look_ms_, due_ms);
    } else if (auto paid = mature(id, *claim); !paid) {
      world_.report(paid.error());
    }
  }
}

Result<void> Lottery::mature(const core::Digest& ticket, const ledger::ClaimRow& claim) {
  const crypto::Address provider = claim.provider;
  const protocol::Amount face = claim.face;
  COMMENSAL_TRY(world_.bank.durably([&]() -> Result<void> {
    COMMENSAL_TRY(world_.bank.submit(ledger::Mature{ticket}));
    for (const ticket::Move& move :
         {ticket::Move{ticket, Event::kAudit, {}}, ticket::Move{ticket, Event::kPay, face}}) {
      COMMENSAL_TRY(tickets_.move({&move, 1}));
    }
    return {};
  }));
  world_.send(provider, rpc::Outcomes{{{ticket, "pay", face}}});
  return {};
}

Result<std::optional<rpc::Outcomes::Item>> Lottery::on_default(const protocol::Receipt& receipt) {
  const core::Digest id = protocol::ticket_id(receipt.body());
  const ledger::ClaimRow* const claim = world_.bank.state().claims.find(id);
  const ticket::Record* const record = tickets_.find(id);
  const bool is_ours = claim != nullptr && record != nullptr &&
                       claim->status == ledger::ClaimStatus::kDefaulted &&
                       claim->gateway == address_;
  if (!is_ours) return std::nullopt;
  if (record->state == State::kCountersigned) {
    const ticket::Move move{id, Event::kDefault,
                            ticket::expected_value(record->face_value, record->win_threshold)};
    COMMENSAL_TRY(tickets_.move({&move, 1}));
  }
  if (record->state != State::kPaid) return std::nullopt;
  return rpc::Outcomes::Item{id, std::string(protocol::name_of(Event::kDefault)), record->paid};
}

}  // namespace commensal::gateway
