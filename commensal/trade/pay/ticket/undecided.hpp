// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ticket/book.hpp>
#include <set>

namespace commensal::ticket {

/// The jobs with tickets that are not settled: what they rest on may still be asked for.
std::set<core::Digest> undecided_jobs(const TicketBook& tickets);
/// The same of one ticket; of none that is there: no.
bool is_undecided(const TicketBook& tickets, const core::Digest& ticket);

}  // namespace commensal::ticket
