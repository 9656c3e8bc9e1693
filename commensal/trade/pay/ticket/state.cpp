// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/pay/ticket/state.hpp>

namespace commensal::ticket {
namespace {

using enum State;

constexpr Transition kTransitions[] = {
    {kCommitted, Event::kCountersign, kCountersigned},
    {kCommitted, Event::kDrop, kVoid},
    {kCommitted, Event::kLapse, kVoid},
    {kCountersigned, Event::kClose, kDrawn},
    {kCountersigned, Event::kDefault, kPaid},
    {kCountersigned, Event::kSettle, kPaid},
    {kCountersigned, Event::kLapse, kVoid},
    {kDrawn, Event::kLose, kLost},
    {kDrawn, Event::kWin, kWon},
    {kDrawn, Event::kWithhold, kSlashed},
    {kDrawn, Event::kSettle, kPaid},
    {kDrawn, Event::kLapse, kVoid},
    {kWon, Event::kOpen, kOpened},
    {kWon, Event::kSilence, kSlashed},
    {kWon, Event::kSettle, kPaid},
    {kWon, Event::kLapse, kVoid},
    {kOpened, Event::kAudit, kAudited},
    {kOpened, Event::kSettle, kPaid},
    {kOpened, Event::kSell, kSold},
    {kSold, Event::kAudit, kAudited},
    {kSold, Event::kSettle, kPaid},
    {kAudited, Event::kPay, kPaid},
    {kAudited, Event::kPenalise, kPenalised},
    {kAudited, Event::kSlash, kSlashed},
    {kAudited, Event::kSettle, kPaid},
    // Audits of the risk desk wait for no draw.
    {kCountersigned, Event::kPenalise, kPenalised},
    {kCountersigned, Event::kSlash, kSlashed},
    {kDrawn, Event::kPenalise, kPenalised},
    {kDrawn, Event::kSlash, kSlashed},
    {kWon, Event::kPenalise, kPenalised},
    {kWon, Event::kSlash, kSlashed},
    {kLost, Event::kPenalise, kPenalised},
    {kLost, Event::kSlash, kSlashed},
};

constexpr State kSettled[] = {kLost, kPaid, kPenalised, kSlashed, kVoid};

}  // namespace

std::span<const std::string_view> enum_names(State) {
  static constexpr std::string_view kNames[] = {"committed", "countersigned", "drawn",   "lost",
                                                "won",       "opened",        "audited", "paid",
                                                "penalised", "slashed",       "void",    "sold"};
  return kNames;
}

std::span<const std::string_view> enum_names(Event) {
  static constexpr std::string_view kNames[] = {
      "countersign", "drop",  "close", "default",  "lose",  "win",    "withhold", "open",
      "silence",     "audit", "pay",   "penalise", "slash", "settle", "lapse",    "sell"};
  return kNames;
}

std::span<const Transition> transitions() { return kTransitions; }

core::Result<State> after(State state, Event event) {
  std::string expected;
  for (const Transition& row : kTransitions) {
    if (row.event != event) continue;
    if (row.from == state) return row.to;
    expected += fmt::format("{}{}", expected.empty() ? "" : " or ", protocol::name_of(row.from));
  }
  return core::fail(core::ErrorCode::kFailedPrecondition,
                    "'{}' where the ticket is {}, expected {}", protocol::name_of(event),
                    protocol::name_of(state), expected);
}

bool is_settled(State state) {
  return std::find(std::begin(kSettled), std::end(kSettled), state) != std::end(kSettled);
}

}  // namespace commensal::ticket
