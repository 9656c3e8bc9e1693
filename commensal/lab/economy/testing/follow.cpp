// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/economy/testing/follow.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::economy::testing {

using ledger::ClaimStatus;
using ticket::Event;
using ticket::State;

namespace {

/// What a ticket does next, in a state, for what the ledger says of it.
struct Step {
  ClaimStatus status;
  bool pattern;
  State from;
  Event event;
};
constexpr Step kSteps[] = {
    {ClaimStatus::kOpen, false, State::kWon, Event::kOpen},
    {ClaimStatus::kPaid, false, State::kWon, Event::kOpen},
    {ClaimStatus::kPaid, false, State::kOpened, Event::kAudit},
    {ClaimStatus::kPaid, false, State::kAudited, Event::kPay},
    {ClaimStatus::kRefused, false, State::kWon, Event::kOpen},
    {ClaimStatus::kRefused, false, State::kOpened, Event::kAudit},
    {ClaimStatus::kRefused, false, State::kAudited, Event::kPenalise},
    {ClaimStatus::kRefused, true, State::kWon, Event::kOpen},
    {ClaimStatus::kRefused, true, State::kOpened, Event::kAudit},
    {ClaimStatus::kRefused, true, State::kAudited, Event::kSlash},
    {ClaimStatus::kDefaulted, false, State::kCountersigned, Event::kDefault},
    {ClaimStatus::kDefaulted, false, State::kDrawn, Event::kWithhold},
    {ClaimStatus::kSilent, false, State::kWon, Event::kSilence},
};

/// Where books may stand for what the ledger says.
struct Stand {
  ClaimStatus status;
  State state;
};
constexpr Stand kStands[] = {
    {ClaimStatus::kOpen, State::kOpened},       {ClaimStatus::kPaid, State::kPaid},
    {ClaimStatus::kRefused, State::kPenalised}, {ClaimStatus::kRefused, State::kSlashed},
    {ClaimStatus::kDefaulted, State::kPaid},    {ClaimStatus::kDefaulted, State::kSlashed},
    {ClaimStatus::kSilent, State::kSlashed},
};
/// ... and where, while it says nothing.
constexpr State kUnclaimed[] = {State::kCountersigned, State::kDrawn, State::kLost, State::kWon};

bool may_stand(const std::optional<Outcome>& by_ledger, State state) {
  if (!by_ledger) return std::ranges::find(kUnclaimed, state) != std::end(kUnclaimed);
  return std::ranges::any_of(kStands, [&](const Stand& row) {
    return row.status == by_ledger->status && row.state == state;
  });
}

std::string_view name_of(const ticket::Record* record) {
  return record == nullptr ? "absent" : protocol::name_of(record->state);
}

}  // namespace

std::optional<Outcome> outcome_of(Gateway& gateway, const Digest& ticket) {
  const ledger::State& state = gateway.state();
  const ledger::ClaimRow* const row = state.claims.find(ticket);
  if (row == nullptr) return std::nullopt;
  const auto mismatches = state.audits.get(row->provider).mismatches;
  const ticket::Record* const record = gateway.tickets().find(ticket);
  // Which of the two it was is known when it is judged; later ones do not change it.
  const bool pattern = record != nullptr && ticket::is_settled(record->state)
                           ? record->state == State::kSlashed
                           : mismatches >= state.scalars.config.pattern_mismatches;
  return Outcome{row->status, row->status == ClaimStatus::kRefused && pattern, row->face};
}

Result<void> follow(ticket::TicketBook& book, const Digest& ticket, const Outcome& outcome) {
  for (const ticket::Record* at = book.find(ticket); at != nullptr; at = book.find(ticket)) {
    const auto* step = std::ranges::find_if(kSteps, [&](const Step& row) {
      return row.status == outcome.status && row.pattern == outcome.pattern &&
             row.from == at->state;
    });
    if (step == std::end(kSteps)) return {};
    Amount paid;
    if (step->event == Event::kPay) paid = outcome.face;
    if (step->event == Event::kDefault) {
      paid = ticket::expected_value(at->face_value, at->win_threshold);
    }
    const ticket::Move move{ticket, step->event, paid};
    COMMENSAL_TRY(book.move({&move, 1}));
  }
  return {};
}

Result<void> expect_agreement(const ticket::Record* by_gateway, const ticket::Record* by_provider,
                              const std::optional<Outcome>& by_ledger, bool provider_is_there) {
  const bool both = by_gateway != nullptr && by_provider != nullptr;
  const bool same = both && by_gateway->state == by_provider->state;
  if (both && (same || !provider_is_there) && may_stand(by_ledger, by_gateway->state)) return {};
  return core::fail(core::ErrorCode::kInternal,
                    "a ticket is {} for the gateway, {} for the provider, {} in the ledger",
                    name_of(by_gateway), name_of(by_provider),
                    by_ledger ? protocol::name_of(by_ledger->status) : "unknown");
}

}  // namespace commensal::economy::testing
