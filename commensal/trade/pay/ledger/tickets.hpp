// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/beacon/tracker.hpp>
#include <commensal/trade/pay/ledger/context.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>

/// What the rules about tickets share.
namespace commensal::ledger {

/// The two chains that draw a ticket.
struct Pair {
  Digest id{};  // of their beacon
  BeaconRow keys;
  beacon::HashChainTracker gateway;
  beacon::HashChainTracker provider;
};
/// Error: kNotFound where the job's beacon is not registered.
core::Result<Pair> pair_of(const State& state, const protocol::Receipt& receipt);

/// Whether a chain is registered, or may be. They are kept for ever: one that was forgotten could
/// be registered anew, and its tickets paid again. Error: kResourceExhausted.
core::Result<void> room_for_hash_chain(const State& state, const protocol::HashChainHead& head);

/// Remembers a reveal and meets the demands for it. Errors: HashChainTracker's, kNotFound.
core::Result<void> accept_reveal(Context& context, const Digest& chain, std::uint64_t round,
                                 const Digest& value);

/// Whether both have revealed so many rounds after this one that whatever could be said of its
/// tickets had its time: nothing more is accepted, so that what became of them may be forgotten.
/// As many rounds as a winner has to be opened in, and again as many to accuse who did not.
bool is_over(const Config& config, std::uint64_t gateways_round, std::uint64_t providers_round,
             std::uint64_t round);

/// Errors: kAlreadyExists for a ticket that the ledger knows, kDeadlineExceeded where is_over.
core::Result<void> expect_new(const Context& context, const Pair& pair,
                              const protocol::Receipt& receipt);
/// A final row: nothing of this ticket can be claimed any more.
ClaimRow closed_row(const protocol::Receipt& receipt, const Digest& receipt_id, ClaimStatus status);
/// Error: kNotFound, or kAlreadyExists where it is final.
core::Result<ClaimRow> open_claim(const Context& context, const Digest& ticket);

/// All of `amount` out of a gateway's escrow. What that lacks comes out of the gateway's penalty
/// escrow, and as much of it is burnt: an escrow is pooled, and its owner can spend it on tickets
/// of its own before others claim theirs. Error: kFailedPrecondition where both do not suffice.
core::Result<void> take_escrow(Context& context, const Address& gateway, const AccountId& to,
                               const Amount& amount);

/// An open claim is over, and so is its sale.
void end_claim(Context& context, const Digest& ticket, ClaimRow claim, ClaimStatus status);
/// Moves what is reserved for an open claim.
core::Result<void> pay_out(Context& context, const ClaimRow& claim, const AccountId& face_to,
                           const AccountId& fee_to);

}  // namespace commensal::ledger
