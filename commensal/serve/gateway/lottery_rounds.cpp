// SPDX-License-Identifier: Apache-2.0
// The rounds of a lottery: closed, drawn, and what becomes of those that somebody does not draw.
#include <algorithm>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>
#include <limits>

namespace commensal::gateway {

using core::Result;
using ticket::Event;
using ticket::State;

namespace {

constexpr int kWrongMax = 3;  // each may cost limits::kRevealGapMax hashes
constexpr std::uint64_t kEveryRound = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void Lottery::tick() {
  if (!is_on()) return;
  deps_.events.report(lapse());
  if (deps_.tickets.has(State::kDrawn)) {
    for (auto& [id, pairing] : pairings_) deps_.events.report(punish_withholding(pairing));
  }
  const bool is_wanted = deps_.tickets.has(State::kCountersigned) || draws_auditors();
  if (!is_wanted || waits_for_reveals()) return;
  const auto closed = close_round();
  deps_.events.report(closed);
  if (!closed) return;
  for (const auto& [id, pairing] : pairings_) deps_.events.report(prune(pairing));
  forget_idle();
}

/// Whether the auditors of a case are drawn by a round that is still to come.
bool Lottery::draws_auditors() const {
  const ledger::State& state = deps_.bank.state();
  if (state.accused.rows().empty()) return false;
  return std::ranges::any_of(state.cases.rows(), [&](const auto& one) {
    const protocol::Receipt& receipt = one.second.dispute.receipt;
    if (!is_pending(one.second.status) || receipt.job.client != address_) return false;
    const auto* const draw = state.draws.find(protocol::receipt_id(receipt.body()));
    return draw != nullptr && !draw->seed && draw->round > chain_->round();
  });
}

/// Who has work in hand makes tickets of rounds by the last reveal that it has heard of, and we
/// know which that is by its own.
bool Lottery::waits_for_reveals() {
  const std::int64_t now_ms = deps_.clock.monotonic_ns() / 1'000'000;
  bool waits = false;
  for (auto& [id, pairing] : pairings_) {
    if (pairing.beacon.drawn_round() >= pairing.beacon.closed_round()) pairing.is_slow = false;
    const Roster::Peer* const peer = is_there(pairing) ? peer_there(pairing.provider) : nullptr;
    const bool is_behind = pairing.beacon.drawn_round() < pairing.beacon.closed_round();
    if (peer == nullptr || peer->in_flight == 0 || !is_behind || pairing.is_slow) continue;
    pairing.is_slow = now_ms - closed_ms_ >= kRevealWaitMs;
    waits = waits || !pairing.is_slow;
  }
  return waits;
}

Result<void> Lottery::close_round() {
  rpc::Reveal reveal{chain_->round() + 1, {}};
  COMMENSAL_TRY(deps_.bank.durably([&]() -> Result<void> {
    COMMENSAL_ASSIGN(reveal.value, chain_->reveal(reveal.round));
    for (auto& [id, pairing] : pairings_) {
      COMMENSAL_TRY(pairing.beacon.on_gateway_reveal(reveal.round, reveal.value));
      COMMENSAL_TRY(deps_.tickets.close(id, reveal.round));
    }
    std::set<core::Digest> heads;
    for (const auto& [id, pairing] : pairings_) {
      heads.insert(ledger::hash_chain_key(pairing.beacon.gateway().head()));
    }
    for (const core::Digest& head : heads) {
      COMMENSAL_TRY(deps_.bank.submit(ledger::Reveal{head, reveal.round, reveal.value}));
    }
    if (reveal.round - chain_->head().first < config_.head_rounds_max) return {};
    return chain_->anchor_at(reveal.round);
  }));
  if (chain_->head() != heads_[0]) heads_.insert(heads_.begin(), chain_->head());
  closed_ms_ = deps_.clock.monotonic_ns() / 1'000'000;
  show_chain();
  // After the signatures of this round that were being written: they are told of by tasks that are
  // posted already, and a ticket that its provider hears of after the reveal is void there.
  deps_.loop.post([this, reveal] {
    for (const auto& [provider, chains] : chains_) {
      if (chains.shown) deps_.roster.tell(provider, reveal);
    }
  });
  return {};
}

void Lottery::on_reveal(const crypto::Address& provider, const rpc::Reveal& reveal) {
  const auto chains = chains_.find(provider);
  if (chains == chains_.end() || !chains->second.shown) return;
  deps_.events.report(draw(pairings_.at(*chains->second.shown), reveal));
}

void Lottery::on_revealed(const event::Revealed& event) {
  for (auto& [id, pairing] : pairings_) {
    if (deps_.bank.state().beacons.find(id)->provider != event.hash_chain) continue;
    deps_.events.report(draw_by_ledger(pairing));
  }
}

/// What the ledger has, it has looked at; it may be ahead of our own chain.
Result<void> Lottery::draw_by_ledger(Pairing& pairing) {
  const ledger::State& state = deps_.bank.state();
  const core::Digest chain = state.beacons.find(pairing.beacon.id())->provider;
  const ledger::HashChainRow& shown = *state.hash_chains.find(chain);
  const std::uint64_t round = std::min(shown.round, pairing.beacon.closed_round());
  if (round <= pairing.beacon.drawn_round()) return {};
  const beacon::HashChainTracker tracker(shown.head, shown.round, shown.value);
  COMMENSAL_ASSIGN(const core::Digest value, tracker.value_of(round));
  pairing.wrong = 0;
  return draw(pairing, {round, value});
}

Result<void> Lottery::draw(Pairing& pairing, const rpc::Reveal& reveal) {
  if (reveal.round <= pairing.beacon.drawn_round() || pairing.wrong >= kWrongMax) return {};
  beacon::TwoPartyBeacon beacon = pairing.beacon;  // ours once it is on disk
  const auto fits = beacon.on_provider_reveal(reveal.round, reveal.value);
  pairing.wrong = fits ? 0 : pairing.wrong + 1;
  COMMENSAL_TRY(fits);
  COMMENSAL_TRY(deps_.bank.durably([&]() -> Result<void> {
    const ledger::State& state = deps_.bank.state();
    const core::Digest chain = state.beacons.find(beacon.id())->provider;
    if (state.hash_chains.find(chain)->round < reveal.round) {
      COMMENSAL_TRY(deps_.bank.submit(ledger::Reveal{chain, reveal.round, reveal.value}));
    }
    COMMENSAL_TRY(deps_.tickets.draw(beacon));
    return {};
  }));
  pairing.beacon = std::move(beacon);
  return {};
}

/// Of who is gone nothing is acknowledged any more: its settled tickets go by our own rounds.
Result<void> Lottery::prune(const Pairing& pairing) {
  const beacon::TwoPartyBeacon& beacon = pairing.beacon;
  const std::uint64_t round = is_there(pairing) ? beacon.drawn_round() : beacon.closed_round();
  COMMENSAL_TRY(deps_.tickets.prune(beacon.id(), round));
  return {};
}

/// Who does not draw a closed round is asked through the ledger, where everybody can see it: who
/// is there soon, who has left after a while. Its provider can answer by any route until the
/// ledger's delay is over; then it pays for its silence, once for a round.
Result<void> Lottery::punish_withholding(Pairing& pairing) {
  const core::Digest& id = pairing.beacon.id();
  const auto late = deps_.tickets.overdue(id, Event::kWithhold, kEveryRound, 1);
  if (late.empty()) return {};
  const ticket::Record& record = *deps_.tickets.find(late[0].ticket);
  const std::uint64_t round = record.body.round;
  const auto now_ms = static_cast<std::uint64_t>(deps_.clock.wall_ms());
  const std::uint64_t soon = round + ticket::Deadlines{}.reveal_rounds_max;
  const bool is_late = is_there(pairing) && soon < pairing.beacon.closed_round();
  if (!is_late && now_ms < record.committed_ms + kWithheldMs) return {};
  const core::Digest& chain = deps_.bank.state().beacons.find(id)->provider;
  if (deps_.bank.state().hash_chains.find(chain)->round >= round) return draw_by_ledger(pairing);
  const auto* until = deps_.bank.state().demands.find({chain, round});
  const bool is_over = until != nullptr && now_ms > *until;
  if (until != nullptr && !is_over) return {};
  COMMENSAL_ASSIGN(const protocol::Receipt receipt, deps_.tickets.receipt(late[0].ticket));
  return deps_.bank.durably([&]() -> Result<void> {
    if (!is_over) {
      COMMENSAL_TRY(deps_.bank.submit(ledger::Demand{receipt}));
      return {};
    }
    COMMENSAL_TRY(deps_.bank.submit(ledger::Default{receipt, {}}));
    COMMENSAL_TRY(deps_.tickets.move(late));
    return deps_.tickets.lapse_undrawn(id, round);
  });
}

/// Never before who has left had its time to show its reveal.
std::int64_t Lottery::lapse_ms() const {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2);
  const std::uint64_t asked_ms = std::min(config_.rules.absence_delay_ms, kMost);
  return std::max(config_.lapse_ms, static_cast<std::int64_t>(asked_ms) + 2 * kWithheldMs);
}

/// What was committed to long ago, if it could be gone on with lately.
Result<void> Lottery::lapse() {
  const std::int64_t now_ms = deps_.clock.wall_ms();
  if (now_ms < opened_ms_ + std::min(lapse_ms(), kGraceMs)) return {};
  COMMENSAL_TRY(deps_.tickets.lapse(static_cast<std::uint64_t>(std::max(now_ms - lapse_ms(), {}))));
  return {};
}

void Lottery::forget_idle() {
  for (auto at = pairings_.begin(); at != pairings_.end();) {
    const auto& [id, pairing] = *at;
    const auto chains = chains_.find(pairing.provider);
    const bool is_shown = chains->second.shown == id;
    const bool is_idle = !deps_.tickets.tallies().contains(id) && pairing.wrong == 0;
    if (!is_idle || (is_shown && peer_there(pairing.provider) != nullptr)) {
      ++at;
      continue;
    }
    chains->second.all.erase(id);
    if (is_shown) chains->second.shown.reset();
    if (chains->second.all.empty()) chains_.erase(chains);
    at = pairings_.erase(at);
  }
}

}  // namespace commensal::gateway
