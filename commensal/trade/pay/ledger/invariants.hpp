// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/state.hpp>

namespace commensal::ledger {

/// What must hold after every transaction: all accounts add up to what came in less what went out;
/// announcements add up to what is withdrawing; claims that are open to what is reserved for them;
/// a final claim never changes again, but is forgotten; pending cases add up to what is bonded for
/// them, and one that is over never changes again. (That no balance is negative needs no
/// check: Amount has no negative values.)
///
/// The first looks only at what changed since the last keep(), and at the postings that should
/// explain it; the second adds everything up and is for tests and verify. A breach is
/// our own bug: the error says which sum is wrong, and callers stop.
core::Result<void> check_changes(const State& state, std::span<const Posting> postings);
core::Result<void> check_all(const State& state);

}  // namespace commensal::ledger
