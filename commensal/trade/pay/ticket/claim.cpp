// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>

namespace commensal::ticket {
namespace {

using core::ErrorCode;
using core::fail;
using protocol::Claim;
using protocol::Job;
using protocol::Receipt;
using protocol::ReceiptBody;

/// The job's own parties, and the beacon of their two chains.
core::Result<void> expect_beacon(const Receipt& receipt, const beacon::HashChainTracker& gateway,
                                 const beacon::HashChainTracker& provider) {
  const Job& job = receipt.job;
  if (receipt.round == protocol::kNoDraw) {
    return fail(ErrorCode::kInvalidArgument, "the receipt takes part in no draw (its round is 0)");
  }
  if (gateway.head().owner != job.client || provider.head().owner != job.provider) {
    return fail(ErrorCode::kInvalidArgument, "chains of {} and {}, expected those of {} and {}",
                crypto::to_text(gateway.head().owner), crypto::to_text(provider.head().owner),
                crypto::to_text(job.client), crypto::to_text(job.provider));
  }
  const core::Digest expected = protocol::beacon_id(gateway.head(), provider.head());
  if (job.beacons.size() == 1 && job.beacons[0] == expected) return {};
  return fail(ErrorCode::kInvalidArgument, "the job names {}, expected the beacon {} alone",
              job.beacons.empty() ? "no beacon" : core::to_hex(job.beacons[0]),
              core::to_hex(expected));
}

core::Result<void> expect_in_time(std::uint64_t round, const ClaimTerms& terms) {
  if (round > terms.closed_round) {
    return fail(ErrorCode::kFailedPrecondition, "early: round {}, the last one closed is {}", round,
                terms.closed_round);
  }
  if (terms.acknowledged_round > round &&
      terms.acknowledged_round - round > terms.opening_rounds_max) {
    return fail(ErrorCode::kDeadlineExceeded,
                "expired: round {} had to be opened within {} rounds, the provider has "
                "acknowledged round {}",
                round, terms.opening_rounds_max, terms.acknowledged_round);
  }
  return {};
}

core::Result<core::Digest> expect_won(const Claim& claim, const ReceiptBody& body) {
  const core::Digest drawn =
      draw(protocol::beacon_value(body.round, claim.gateway_reveal, claim.provider_reveal), body);
  if (wins(drawn, claim.receipt.job.win_threshold)) return drawn;
  return fail(ErrorCode::kInvalidArgument, "the ticket has lost: its draw {} is not below {}",
              core::to_hex(drawn), core::to_hex(claim.receipt.job.win_threshold));
}

core::Result<CheckedClaim> check_claim(const Claim& claim, const beacon::HashChainTracker& gateway,
                                       const beacon::HashChainTracker& provider,
                                       const ClaimTerms& terms, protocol::KnownSignatures* known) {
  const Receipt& receipt = claim.receipt;
  COMMENSAL_TRY(expect_beacon(receipt, gateway, provider));
  COMMENSAL_TRY(expect_in_time(receipt.round, terms));
  COMMENSAL_TRY(gateway.check(receipt.round, claim.gateway_reveal));
  COMMENSAL_TRY(provider.check(receipt.round, claim.provider_reveal));
  const ReceiptBody body = receipt.body();
  if (protocol::commit_step(body.job_id, body.step, claim.output_root, claim.output_salt) !=
      body.commitment) {
    return fail(ErrorCode::kInvalidArgument,
                "the output's root and salt do not open the receipt's commitment");
  }
  COMMENSAL_ASSIGN(const core::Digest drawn, expect_won(claim, body));
  COMMENSAL_TRY(protocol::verify_receipt(receipt, body, terms.chain_id, known));
  return CheckedClaim{protocol::ticket_id(body), protocol::receipt_id(body), drawn};
}

core::Result<CheckedClaim> check_ticket(const Receipt& receipt,
                                        const beacon::HashChainTracker& gateway,
                                        const beacon::HashChainTracker& provider,
                                        std::uint64_t chain_id, protocol::KnownSignatures* known) {
  COMMENSAL_TRY(expect_beacon(receipt, gateway, provider));
  const ReceiptBody body = receipt.body();
  COMMENSAL_TRY(protocol::verify_receipt(receipt, body, chain_id, known));
  return CheckedClaim{protocol::ticket_id(body), protocol::receipt_id(body), {}};
}

core::Result<CheckedClaim> in_claim(core::Result<CheckedClaim> checked) {
  if (!checked) return core::in_context("claim", checked.error());
  return checked;
}

}  // namespace

core::Digest draw(const core::Digest& beacon, const ReceiptBody& body) {
  protocol::Writer writer;
  writer.u64(body.step);
  return crypto::tagged_hash("commensal/ticket/v1", beacon, body.job_id, writer.written(),
                             body.commitment);
}

core::Result<CheckedClaim> verify_claim(const Claim& claim, const beacon::HashChainTracker& gateway,
                                        const beacon::HashChainTracker& provider,
                                        const ClaimTerms& terms, protocol::KnownSignatures* known) {
  return in_claim(check_claim(claim, gateway, provider, terms, known));
}

core::Result<CheckedClaim> verify_ticket(const Receipt& receipt,
                                         const beacon::HashChainTracker& gateway,
                                         const beacon::HashChainTracker& provider,
                                         std::uint64_t chain_id, protocol::KnownSignatures* known) {
  return in_claim(check_ticket(receipt, gateway, provider, chain_id, known));
}

}  // namespace commensal::ticket
