// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/encoding.hpp>
#include <optional>

namespace commensal::ticket {

/// Where a ticket, one for each (job, step), has got to.
enum class State : std::uint8_t {
  kCommitted,      // the provider has signed
  kCountersigned,  // the client too: it takes part in its round's draw
  kDrawn,          // the gateway has revealed: the outcome is fixed, the provider's reveal shows it
  kLost,
  kWon,
  kOpened,   // the provider has shown output root and salt
  kAudited,  // an auditor has signed a verdict
  kPaid,
  kPenalised,  // an isolated mismatch of who has a long record: unpaid, and a part of the stake
  kSlashed,    // any other, silence or a withheld reveal
  kVoid,       // not countersigned in time, or nobody went on with it: owed by nobody
  kSold,       // opened, and its provider has sold it: somebody else is paid, its stake answers
};
inline constexpr std::size_t kStates = static_cast<std::size_t>(State::kSold) + 1;
std::span<const std::string_view> enum_names(State);

enum class Event : std::uint8_t {
  kCountersign,
  kDrop,      // its round closes without a countersignature
  kClose,     // the gateway reveals its round
  kDefault,   // the gateway does not: paid at its value before the draw
  kLose,      // the provider reveals its round, and the draw is not below the threshold
  kWin,       // ... or it is
  kWithhold,  // the provider does not reveal in time
  kOpen,
  kSilence,  // a winner is not opened in time
  kAudit,    // there is a verdict
  kPay,
  kPenalise,
  kSlash,
  kSettle,  // both parties agree on an outcome, whatever it is
  kLapse,   // nobody has gone on with it for too long
  kSell,    // its provider has been paid by who bought it
};
std::span<const std::string_view> enum_names(Event);

/// A row of the state machine: whatever is not in the table cannot happen.
struct Transition {
  State from;
  Event event;
  State to;
};
std::span<const Transition> transitions();

/// Error: kFailedPrecondition, naming state, event, and the states that the event is for.
core::Result<State> after(State state, Event event);

/// Nothing is awaited any more. (The risk desk may still audit a ticket that has lost.)
bool is_settled(State state);

}  // namespace commensal::ticket
