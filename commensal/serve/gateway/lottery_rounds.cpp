// SPDX-License-Identifier: Apache-2.0
// The rounds of a Lottery: closed, drawn, and what happens to those who let one pass.
#include <commensal/serve/gateway/lottery.hpp>

namespace commensal::gateway {

using core::Result;
using ticket::Event;
using ticket::State;

void Lottery::tick() {
  if (!is_on()) return;
  look_at_winners();
  if (!tickets_.has(State::kCountersigned)) return;
  if (auto closed = close_round(); !closed) return world_.report(closed.error());
  for (const auto& [provider, beacon] : beacons_) {
    for (const auto punish : {&Lottery::punish_silence, &Lottery::punish_withholding}) {
      if (auto done = (this->*punish)(provider); !done) world_.report(done.error());
    }
    auto pruned = tickets_.prune(beacon.id(), beacon.drawn_round());
    if (!pruned) world_.report(pruned.error());
  }
}

Result<void> Lottery::close_round() {
  rpc::Reveal reveal{chain_->round() + 1, {}};
  COMMENSAL_TRY(world_.bank.durably([&]() -> Result<void> {
    COMMENSAL_ASSIGN(reveal.value, chain_->reveal(reveal.round));
    for (auto& [provider, beacon] : beacons_) {
      COMMENSAL_TRY(beacon.on_gateway_reveal(reveal.round, reveal.value));
      COMMENSAL_TRY(tickets_.close(beacon.id(), reveal.round));
    }
    if (beacons_.empty()) return {};
    COMMENSAL_TRY(world_.bank.submit(
        ledger::Reveal{ledger::chain_key(chain_->head()), reveal.round, reveal.value}));
    return {};
  }));
  show_chain();
  for (const auto& [provider, beacon] : beacons_) world_.send(provider, reveal);
  return {};
}

void Lottery::on_reveal(const crypto::Address& provider, const rpc::Reveal& reveal) {
  if (auto drawn = draw(provider, reveal); !drawn) world_.report(drawn.error());
}

Result<void> Lottery::draw(const crypto::Address& provider, const rpc::Reveal& reveal) {
  const auto found = beacons_.find(provider);
  if (found == beacons_.end()) return {};
  beacon::TwoPartyBeacon& beacon = found->second;
  if (reveal.round <= beacon.drawn_round()) return {};
  COMMENSAL_TRY(beacon.on_provider_reveal(reveal.round, reveal.value));
  return world_.bank.durably([&]() -> Result<void> {
    const core::Digest chain = ledger::chain_key(beacon.provider().head());
    COMMENSAL_TRY(world_.bank.submit(ledger::Reveal{chain, reveal.round, reveal.value}));
    COMMENSAL_TRY(tickets_.draw(beacon));
    return {};
  });
}

/// Winners that their provider does not open although it goes on acknowledging rounds. Only where
/// the answer was delivered: to one that was cut off in between our signature may never have come.
Result<void> Lottery::punish_silence(const crypto::Address& provider) {
  const beacon::TwoPartyBeacon& beacon = beacons_.at(provider);
  for (const ticket::Move& move : tickets_.overdue(beacon.id(), beacon.drawn_round())) {
    if (move.event != Event::kSilence) continue;
    COMMENSAL_ASSIGN(const protocol::Receipt receipt, tickets_.receipt(move.ticket));
    if (!world_.was_delivered(protocol::receipt_id(receipt.body()))) continue;
    COMMENSAL_TRY(world_.bank.durably([&]() -> Result<void> {
      COMMENSAL_TRY(world_.bank.submit(ledger::Silence{receipt}));
      return tickets_.move({&move, 1});
    }));
  }
  return {};
}

/// A provider that is there and does not draw a closed round is asked through the ledger, where
/// everybody can see it; if that does not help either, it pays for its silence.
Result<void> Lottery::punish_withholding(const crypto::Address& provider) {
  const beacon::TwoPartyBeacon& beacon = beacons_.at(provider);
  if (beacon.drawn_round() + ticket::Deadlines{}.reveal_rounds_max > beacon.closed_round())
    return {};
  const core::Digest chain = ledger::chain_key(beacon.provider().head());
  for (const ticket::Record& record : tickets_.in(State::kDrawn)) {
    if (record.beacon != beacon.id()) continue;
    COMMENSAL_ASSIGN(const protocol::Receipt receipt, tickets_.receipt(record.id()));
    const auto* until = world_.bank.state().demands.find({chain, record.body.round});
    const bool is_over =
        until != nullptr && static_cast<std::uint64_t>(world_.clock.wall_ms()) > *until;
    if (until != nullptr ? !is_over : !world_.is_there(provider)) continue;
    COMMENSAL_TRY(world_.bank.durably([&]() -> Result<void> {
      if (!is_over) {
        COMMENSAL_TRY(world_.bank.submit(ledger::Demand{receipt}));
        return {};
      }
      COMMENSAL_TRY(world_.bank.submit(ledger::Default{receipt, {}}));
      const ticket::Move move{record.id(), Event::kWithhold, {}};
      return tickets_.move({&move, 1});
    }));
  }
  return {};
}

}  // namespace commensal::gateway
