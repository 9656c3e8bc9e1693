// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/state.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>

namespace commensal::gateway {

// What others may have this gateway book. Evidence proves itself to the ledger, but not that the
// answer was ever delivered: claims, verdicts and draws are the gateway's to send. Pure functions;
// docs/money.md, "Transactions".

/// A stranger's, by its signature: it moves the sender's own money or claims, shows what it is
/// asked for of its hash chain, or is said of an accusation. Error: kPermissionDenied, naming what
/// was expected.
core::Result<void> check_strangers(const ledger::State& state,
                                   const ledger::Transaction& transaction);

/// A connected provider's: besides, its remedies against a gateway that does not draw, or judge.
/// Error: kPermissionDenied, naming what was expected.
core::Result<void> check_providers(const ledger::State& state,
                                   const ledger::Transaction& transaction,
                                   const crypto::Address& provider);

}  // namespace commensal::gateway
