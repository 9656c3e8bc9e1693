// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/economy/testing/gateway.hpp>

namespace commensal::economy::testing {

/// What a ledger says of a ticket, for a book to follow.
struct Outcome {
  ledger::ClaimStatus status = ledger::ClaimStatus::kOpen;
  bool pattern = false;  // a refusal cost the whole stake
  Amount face;
};
/// Nothing where the ledger knows nothing of it yet.
std::optional<Outcome> outcome_of(Gateway& gateway, const Digest& ticket);

/// Moves a ticket of `book` to where the ledger has it already; nothing where it is there.
/// Errors: TicketBook::move's: a way that the table of states does not have.
Result<void> follow(ticket::TicketBook& book, const Digest& ticket, const Outcome& outcome);

/// Whether the two parties' books and the ledger say the same of a ticket. A provider that is not
/// there may be behind. Error: kInternal, saying what each has.
Result<void> expect_agreement(const ticket::Record* by_gateway, const ticket::Record* by_provider,
                              const std::optional<Outcome>& by_ledger, bool provider_is_there);

}  // namespace commensal::economy::testing
