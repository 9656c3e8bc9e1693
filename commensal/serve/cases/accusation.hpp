// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/bodies_disputes.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <optional>

namespace commensal::cases {

// What an answer that is said to be wrong is accused with. Pure functions.

/// What the opening comes down to for who has neither model nor tensors.
struct Grounds {
  core::Digest input_root{};  // of what the step was computed from, its noise included; zero where
                              // nobody can show that, and so no dispute can be played
  core::Digest output_root{};
  core::Bytes origin;          // receipt::Origin, encoded, of a rollout's step
  bool shows_tensors = false;  // ... in full, those that noise goes onto
};
/// Hashes all of it. Errors: receipt::input_root_of()'s.
core::Result<Grounds> grounds_of(const receipt::Opening& opening);

/// `report`: its auditor is accused, who confirmed it.
ledger::Accuse accusation_of(const protocol::Receipt& receipt, const receipt::Opening& opening,
                             const Grounds& grounds,
                             std::optional<protocol::AuditReport> report = {});
/// Whether the model refuses these inputs where it is run again, to this commitment: no dispute can
/// be played about that.
bool is_refused(const protocol::Receipt& receipt, const receipt::Opening& opening,
                const core::Digest& recomputed);

}  // namespace commensal::cases
