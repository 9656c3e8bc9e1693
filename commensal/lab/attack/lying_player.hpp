// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/attack/stand.hpp>

namespace commensal::attack {

/// Argues a contested case about a right answer of the digit network to its end, before the stand's
/// ledger: the auditor, who accuses, has changed one element of one node in its own run, and goes
/// on as if that were the truth; the provider is honest. Errors: those of the players and the
/// ledger.
Result<void> argue_as_liar(Models& models, Stand& stand, const Work& work,
                           const ledger::CaseKey& key);

}  // namespace commensal::attack
