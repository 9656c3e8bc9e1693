// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/attack/stand.hpp>
#include <commensal/verify/arbiter/referee.hpp>

namespace commensal::attack {

/// A dispute about a right answer of the digit network: the stand's auditor changes one element of
/// one node in its own run, and goes on as if that were the truth; the provider is honest.
/// Errors: those of the players and the referee.
Result<arbiter::Outcome> dispute_with_liar(Models& models, Stand& stand, const Work& work);

}  // namespace commensal::attack
