// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/context.hpp>

namespace commensal::ledger {

// One overload a kind; what each moves is said in docs/money.md and beside the bodies.
core::Result<void> rule(Context& context, const Genesis& body);
core::Result<void> rule(Context& context, const Deposit& body);
core::Result<void> rule(Context& context, const Withdraw& body);
core::Result<void> rule(Context& context, const Fund& body);
core::Result<void> rule(Context& context, const AnnounceWithdrawal& body);
core::Result<void> rule(Context& context, const CompleteWithdrawal& body);
core::Result<void> rule(Context& context, const Allow& body);
core::Result<void> rule(Context& context, const Debit& body);
core::Result<void> rule(Context& context, const GrantCredit& body);
core::Result<void> rule(Context& context, const AdmitAuditor& body);
core::Result<void> rule(Context& context, const RegisterBeacon& body);
core::Result<void> rule(Context& context, const Reveal& body);
core::Result<void> rule(Context& context, const Open& body);
core::Result<void> rule(Context& context, const Judge& body);
core::Result<void> rule(Context& context, const Mature& body);
core::Result<void> rule(Context& context, const Endorse& body);
core::Result<void> rule(Context& context, const Settle& body);
core::Result<void> rule(Context& context, const Silence& body);
core::Result<void> rule(Context& context, const Demand& body);
core::Result<void> rule(Context& context, const Default& body);
core::Result<void> rule(Context& context, const Checkpoint& body);
core::Result<void> rule(Context& context, const Accuse& body);
core::Result<void> rule(Context& context, const Contest& body);
core::Result<void> rule(Context& context, const Concede& body);
core::Result<void> rule(Context& context, const Argue& body);
core::Result<void> rule(Context& context, const Expire& body);
core::Result<void> rule(Context& context, const Report& body);
core::Result<void> rule(Context& context, const Enlist& body);
core::Result<void> rule(Context& context, const Disclose& body);
core::Result<void> rule(Context& context, const Summon& body);
core::Result<void> rule(Context& context, const Sell& body);
core::Result<void> rule(Context& context, const Buy& body);

/// Before any entry's own rule: what a Checkpoint lets go goes a little at a time, so that no write
/// is long.
void forget_some(Context& context);

}  // namespace commensal::ledger
