// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/lab/serial/tickets.hpp>

namespace commensal::serial {
namespace {

using core::Result;
using ticket::Event;
using ticket::State;

beacon::HashChain hash_chain(const core::Digest& seed, std::uint64_t rounds) {
  return beacon::HashChain::make(seed, std::max(1, static_cast<int>(std::bit_width(rounds))));
}

protocol::HashChainHead head_of(const crypto::SecretKey& key, const beacon::HashChain& chain) {
  protocol::HashChainHead head;
  head.anchor = chain.anchor();
  head.rounds = chain.rounds();
  return protocol::sign_hash_chain_head(key, head);
}

}  // namespace

RolloutTickets::RolloutTickets(const Dependencies& deps)
    : deps_(deps),
      client_chain_(hash_chain(deps.client_seed, deps.steps / deps.steps_per_round + 1)),
      provider_chain_(hash_chain(deps.provider_seed, deps.steps / deps.steps_per_round + 1)),
      beacon_(beacon::HashChainTracker(head_of(deps.client, client_chain_)),
              beacon::HashChainTracker(head_of(deps.provider, provider_chain_))),
      client_(deps.client_store, deps.clock),
      provider_(deps.provider_store, deps.clock) {}

Result<void> RolloutTickets::open() {
  COMMENSAL_TRY(client_.open());
  return provider_.open();
}

Result<void> RolloutTickets::provider_commits(const ticket::NewTicket& ticket) {
  if (provider_.find(protocol::ticket_id(ticket.receipt.body())) != nullptr) return {};
  return provider_.commit({&ticket, 1}, beacon_.closed_round() + 1);
}

Result<void> RolloutTickets::client_signs(const protocol::Receipt& receipt) {
  const ticket::NewTicket ticket{receipt, {}, {}};
  if (client_.find(protocol::ticket_id(receipt.body())) == nullptr) {
    COMMENSAL_TRY(client_.commit({&ticket, 1}, beacon_.closed_round() + 1));
  }
  return client_.countersign({&receipt, 1});
}

Result<void> RolloutTickets::provider_countersigned(const protocol::Receipt& receipt) {
  const ticket::Record* const record = provider_.find(protocol::ticket_id(receipt.body()));
  if (record == nullptr || record->state != State::kCommitted) return {};
  return provider_.countersign({&receipt, 1});
}

Result<void> RolloutTickets::settle(ticket::TicketBook& book, const core::Digest& ticket,
                                    bool is_right) {
  const std::pair<State, ticket::Move> moves[] = {
      {State::kWon, {ticket, Event::kOpen, {}}},
      {State::kOpened, {ticket, Event::kAudit, {}}},
      {State::kAudited, {ticket, is_right ? Event::kPay : Event::kSlash, {}}}};
  for (const auto& [from, move] : moves) {
    const ticket::Record* const record = book.find(ticket);
    if (record == nullptr || record->state != from) continue;
    ticket::Move made = move;
    if (made.event == Event::kPay) made.amount = record->face_value;
    COMMENSAL_TRY(book.move({&made, 1}));
  }
  return {};
}

Result<void> RolloutTickets::draw_up_to(
    std::uint64_t step, const std::function<Result<bool>(std::uint64_t)>& is_right) {
  // The last round may be a short one.
  const std::uint64_t round = step == deps_.steps ? round_of(step) : step / deps_.steps_per_round;
  if (round <= settled_round_) return {};
  if (beacon_.closed_round() < round) {
    COMMENSAL_ASSIGN(const auto ours, client_chain_.reveal(round));
    COMMENSAL_TRY(beacon_.on_gateway_reveal(round, ours));
  }
  COMMENSAL_TRY(client_.close(beacon_.id(), round));
  COMMENSAL_TRY(provider_.close(beacon_.id(), round));
  if (beacon_.drawn_round() < round) {
    COMMENSAL_ASSIGN(const auto theirs, provider_chain_.reveal(round));
    COMMENSAL_TRY(beacon_.on_provider_reveal(round, theirs));
  }
  COMMENSAL_TRY(client_.draw(beacon_));
  COMMENSAL_TRY(provider_.draw(beacon_));
  for (const State state : {State::kWon, State::kOpened, State::kAudited}) {
    for (const ticket::Record& winner : client_.in(state)) {
      COMMENSAL_ASSIGN(const bool right, is_right(winner.body.step));
      // The provider's book first: a winner is looked for in the client's.
      COMMENSAL_TRY(settle(provider_, winner.id(), right));
      COMMENSAL_TRY(settle(client_, winner.id(), right));
    }
  }
  settled_round_ = round;
  return {};
}

}  // namespace commensal::serial
