// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/bodies_disputes.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <optional>

namespace commensal::cases {

// What an answer that is said to be wrong is accused with. Pure functions.

/// Of its receipt and what opens it; the roots are those of the opening's inputs and outputs.
/// `report`: its auditor is accused, who confirmed it.
ledger::Accuse accusation_of(const protocol::Receipt& receipt, const receipt::Opening& opening,
                             const core::Digest& input_root, const core::Digest& output_root,
                             std::optional<protocol::AuditReport> report = {});
/// Whether the model refuses these inputs where it is run again, to this commitment: no dispute can
/// be played about that.
bool is_refused(const protocol::Receipt& receipt, const receipt::Opening& opening,
                const core::Digest& recomputed);

}  // namespace commensal::cases
