// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::ticket {

/// What a gateway has in its ledger for the winners of its tickets.
struct Cover {
  Amount escrow;          // announced withdrawals not counted
  Amount penalty_escrow;  // likewise
};

/// Whether that suffices for so many tickets, of whichever providers: the escrow for what they may
/// win, and where `wants_penalty`, the penalty escrow for twice that. An escrow is pooled, and its
/// owner can spend it on tickets of its own: that pays unless as much is burnt as the others lack
/// (docs/money.md). A pure function. Error: kFailedPrecondition, with the figures.
core::Result<void> check_cover(const Cover& cover, std::uint64_t tickets, double probability,
                               const Amount& face, const Amount& fee, bool wants_penalty);

}  // namespace commensal::ticket
