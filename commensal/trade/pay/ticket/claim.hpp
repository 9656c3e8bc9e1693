// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/ticket.hpp>
#include <commensal/trade/pay/beacon/tracker.hpp>

namespace commensal::ticket {

/// H("commensal/ticket/v1", beacon of the round | J | i as u64 | c_i).
core::Digest draw(const core::Digest& beacon, const protocol::ReceiptBody& body);
/// Both as 256-bit numbers, big-endian.
inline bool wins(const core::Digest& draw, const core::Digest& threshold) {
  return draw < threshold;
}

/// What the one who checks a claim knows that the claim cannot prove.
struct ClaimTerms {
  std::uint64_t closed_round = 0;        // the last one closed; later ones are too early
  std::uint64_t acknowledged_round = 0;  // the last one that the provider has acknowledged
  std::uint64_t opening_rounds_max = 0;  // from a ticket's round to the last one to open it in
  std::uint64_t chain_id = protocol::kEmbeddedLedger;
};

struct CheckedClaim {
  core::Digest ticket{};   // protocol::ticket_id
  core::Digest receipt{};  // protocol::receipt_id: what a Verdict is about
  core::Digest draw{};
};

/// Everything about a claim except whether the answer is right (verify_verdict, with the receipt's
/// id) and whether it was paid before (the ledger). The trackers are those of the job's client and
/// provider, heads verified. Cheapest checks first, signatures last.
/// Errors, the message beginning "claim: ": kInvalidArgument (malformed; no draw; another beacon; a
/// reveal that does not hash; an opening that does not open; lost), kFailedPrecondition (early),
/// kDeadlineExceeded (expired), kUnauthenticated (signatures).
core::Result<CheckedClaim> verify_claim(const protocol::Claim& claim,
                                        const beacon::HashChainTracker& gateway,
                                        const beacon::HashChainTracker& provider,
                                        const ClaimTerms& terms,
                                        protocol::KnownSignatures* known = nullptr);

/// That both parties signed a ticket of the beacon of these two chains, whatever became of its
/// draw. Errors: as verify_claim's, of receipt and beacon.
core::Result<CheckedClaim> verify_ticket(const protocol::Receipt& receipt,
                                         const beacon::HashChainTracker& gateway,
                                         const beacon::HashChainTracker& provider,
                                         std::uint64_t chain_id = protocol::kEmbeddedLedger,
                                         protocol::KnownSignatures* known = nullptr);

}  // namespace commensal::ticket
