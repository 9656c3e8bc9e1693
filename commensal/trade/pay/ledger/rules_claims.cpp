// SPDX-License-Identifier: Apache-2.0
// Tickets that have won: opened, judged, paid, passed on, settled.
#include <algorithm>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/trade/pay/ledger/rules.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>

namespace commensal::ledger {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

Result<void> register_hash_chain(Context& context, const protocol::HashChainHead& head) {
  const Digest key = hash_chain_key(head);
  if (context.state.hash_chains.find(key) != nullptr) return {};
  COMMENSAL_TRY(room_for_hash_chain(context.state, head));
  COMMENSAL_TRY(protocol::verify_hash_chain_head(head, context.config().chain_id));
  context.state.hash_chains.set(key, {head, head.first, head.anchor});
  context.state.chains_of.set(head.owner, context.state.chains_of.get(head.owner) + 1);
  return {};
}

AccountId available(const Address& owner) { return {owner, AccountKind::kAvailable}; }
AccountId escrow(const Address& owner) { return {owner, AccountKind::kEscrow}; }

}  // namespace

Result<void> rule(Context& context, const RegisterBeacon& body) {
  const Digest id = protocol::beacon_id(body.gateway, body.provider);
  if (context.state.beacons.find(id) != nullptr) {
    return fail(ErrorCode::kAlreadyExists, "beacon: {} is registered already", core::to_hex(id));
  }
  COMMENSAL_TRY(register_hash_chain(context, body.gateway));
  COMMENSAL_TRY(register_hash_chain(context, body.provider));
  context.state.beacons.set(id, {hash_chain_key(body.gateway), hash_chain_key(body.provider)});
  return {};
}

Result<void> rule(Context& context, const Reveal& body) {
  return accept_reveal(context, body.hash_chain, body.round, body.value);
}

Result<void> rule(Context& context, const Open& body) {
  const protocol::Receipt& receipt = body.claim.receipt;
  const Config& config = context.config();
  const Digest ticket = protocol::ticket_id(receipt.body());
  COMMENSAL_ASSIGN(const Pair known, pair_of(context.state, receipt));
  COMMENSAL_TRY(expect_new(context, known, receipt));
  COMMENSAL_TRY(
      accept_reveal(context, known.keys.gateway, receipt.round, body.claim.gateway_reveal));
  COMMENSAL_TRY(
      accept_reveal(context, known.keys.provider, receipt.round, body.claim.provider_reveal));
  COMMENSAL_ASSIGN(const Pair pair, pair_of(context.state, receipt));
  COMMENSAL_ASSIGN(const ticket::CheckedClaim checked,
                   ticket::verify_claim(body.claim, pair.gateway, pair.provider,
                                        {pair.gateway.round(), pair.provider.round(),
                                         config.opening_rounds, config.chain_id}));
  COMMENSAL_ASSIGN(const Address holder, protocol::last_holder(ticket, receipt.job.provider,
                                                               body.endorsements, config.chain_id));
  const protocol::Job& job = receipt.job;
  const Amount fee = config.auditor_fee;
  COMMENSAL_ASSIGN(const Amount needed, job.face_value.plus(fee));
  COMMENSAL_TRY(take_escrow(context, job.client, {job.client, AccountKind::kClaims}, needed));
  std::uint64_t mature_ms = 0;
  if (__builtin_add_overflow(context.time_ms(), config.audit_delay_ms, &mature_ms)) {
    return fail(ErrorCode::kInvalidArgument, "clock: {} ms leaves no room for the delay",
                context.time_ms());
  }
  context.state.claims.set(ticket, {ClaimStatus::kOpen, checked.receipt, receipt.commitment,
                                    job.client, job.provider, holder, body.endorsements.size(),
                                    job.face_value, fee, mature_ms, known.id, receipt.round});
  return {};
}

namespace {

/// Whose word counts about this job.
Result<void> check_auditor(const Context& context, const protocol::Job& job, const ClaimRow& claim,
                           const Address& auditor) {
  const auto refused = [&](std::string_view why) {
    return fail(ErrorCode::kPermissionDenied, "auditor: {} {}", crypto::to_text(auditor), why);
  };
  if (context.state.auditors.find(auditor) == nullptr) return refused("is not admitted here");
  if (auditor == claim.provider || auditor == claim.holder) return refused("is paid by the ticket");
  if (job.auditors == protocol::AuditorClass::kNobody) {
    return refused("has no say: the job admits nobody");
  }
  const auto& list = job.auditor_list;
  if (job.auditors == protocol::AuditorClass::kOwnerList &&
      std::ranges::find(list, auditor) == list.end()) {
    return refused("is not on the list of the job's owner");
  }
  return {};
}

/// Enough right answers in a row, and earlier mismatches are no part of a pattern any more.
void note_match(Context& context, const Address& provider) {
  AuditRecord record = context.state.audits.get(provider);
  const std::uint32_t enough = context.config().pardon_matches;
  record.matches = std::min(record.matches + 1, enough);
  if (record.matches == enough) record.mismatches = 0;
  context.state.audits.set(provider, record);
}

/// That the verdict is about this receipt, and its auditor's.
Result<void> check_verdict(const Context& context, const protocol::Verdict& verdict,
                           const ClaimRow& claim, const protocol::Job& job) {
  if (verdict.receipt_id != claim.receipt || verdict.expected_commitment != claim.commitment) {
    return fail(ErrorCode::kInvalidArgument, "verdict: it is not about receipt {}",
                core::to_hex(claim.receipt));
  }
  COMMENSAL_TRY(check_auditor(context, job, claim, verdict.auditor));
  return protocol::verify_verdict(verdict, context.config().chain_id);
}

}  // namespace

Result<void> rule(Context& context, const Judge& body) {
  const protocol::Verdict& verdict = body.verdict;
  // Whoever is admitted here is the operator's friend: its word costs nobody a stake.
  if (verdict.outcome != protocol::Outcome::kMatch) {
    return fail(ErrorCode::kInvalidArgument,
                "verdict: only a match is booked; a wrong answer is accused (Accuse)");
  }
  const protocol::ReceiptBody ticket_body = body.receipt.body();
  const Digest ticket = protocol::ticket_id(ticket_body);
  COMMENSAL_ASSIGN(const ClaimRow claim, open_claim(context, ticket));
  // The receipt's id covers the job: no signature of it needs another look.
  if (protocol::receipt_id(ticket_body) != claim.receipt) {
    return fail(ErrorCode::kInvalidArgument, "verdict: receipt {} is open, not this one",
                core::to_hex(claim.receipt));
  }
  COMMENSAL_TRY(check_verdict(context, verdict, claim, body.receipt.job));
  COMMENSAL_TRY(expect_not_accused(context, ticket));
  COMMENSAL_TRY(pay_out(context, claim, available(claim.holder), available(verdict.auditor)));
  end_claim(context, ticket, claim, ClaimStatus::kPaid);
  note_match(context, claim.provider);
  return {};
}

Result<void> rule(Context& context, const Mature& body) {
  COMMENSAL_ASSIGN(const ClaimRow claim, open_claim(context, body.ticket));
  if (context.time_ms() < claim.mature_ms) {
    return fail(ErrorCode::kFailedPrecondition,
                "ticket: a verdict has time until {} ms, it is {} ms", claim.mature_ms,
                context.time_ms());
  }
  COMMENSAL_TRY(expect_not_accused(context, body.ticket));
  COMMENSAL_TRY(pay_out(context, claim, available(claim.holder), escrow(claim.gateway)));
  end_claim(context, body.ticket, claim, ClaimStatus::kPaid);
  return {};
}

namespace {

/// Its next holder. What the one before has signed or asked counts no longer.
void pass_on(Context& context, const Digest& ticket, ClaimRow claim, const Address& to) {
  claim.holder = to;
  ++claim.endorsements;
  context.state.claims.set(ticket, std::move(claim));
  context.state.asked.erase(ticket);
}

}  // namespace

Result<void> rule(Context& context, const Endorse& body) {
  const protocol::Endorsement& link = body.endorsement;
  COMMENSAL_ASSIGN(ClaimRow claim, open_claim(context, link.ticket));
  if (link.index != claim.endorsements || link.from != claim.holder) {
    return fail(ErrorCode::kInvalidArgument,
                "endorsement: index {} from {}, expected index {} from the holder {}", link.index,
                crypto::to_text(link.from), claim.endorsements, crypto::to_text(claim.holder));
  }
  if (claim.endorsements >= limits::kEndorsementsMax) {
    return fail(ErrorCode::kResourceExhausted, "endorsement: at most {} are accepted",
                limits::kEndorsementsMax);
  }
  COMMENSAL_TRY(protocol::verify_endorsement(link, context.config().chain_id));
  pass_on(context, link.ticket, std::move(claim), link.to);
  return {};
}

Result<void> rule(Context& context, const Sell& body) {
  COMMENSAL_ASSIGN(const ClaimRow claim, open_claim(context, body.ticket));
  if (context.sender() != claim.holder) {
    return fail(ErrorCode::kPermissionDenied, "sender: {}, expected the holder {}",
                crypto::to_text(context.sender()), crypto::to_text(claim.holder));
  }
  if (body.price > claim.face) {
    return fail(ErrorCode::kInvalidArgument, "price: {}, at most the face value {} is accepted",
                protocol::to_text(body.price), protocol::to_text(claim.face));
  }
  if (body.price == Amount()) {
    context.state.asked.erase(body.ticket);
  } else {
    context.state.asked.set(body.ticket, body.price);
  }
  return {};
}

namespace {

/// Whom a claim would make judge of its own case, or owe to itself.
Result<void> check_buyer(const Context& context, const ClaimRow& claim) {
  const Address& buyer = context.sender();
  const auto refused = [&](std::string_view why) {
    return fail(ErrorCode::kPermissionDenied, "buyer: {} {}", crypto::to_text(buyer), why);
  };
  if (buyer == claim.holder) return refused("holds the claim already");
  if (buyer == claim.gateway) return refused("is the gateway that owes the claim");
  if (context.state.auditors.find(buyer) == nullptr) return {};
  return refused("is an auditor here: who judges is not paid by the ticket");
}

}  // namespace

Result<void> rule(Context& context, const Buy& body) {
  COMMENSAL_ASSIGN(ClaimRow claim, open_claim(context, body.ticket));
  COMMENSAL_TRY(check_buyer(context, claim));
  COMMENSAL_TRY(expect_not_accused(context, body.ticket));
  const Amount* const asked = context.state.asked.find(body.ticket);
  if (asked == nullptr) {
    return fail(ErrorCode::kFailedPrecondition, "ticket: {} is not for sale",
                core::to_hex(body.ticket));
  }
  if (*asked != body.price) {
    return fail(ErrorCode::kFailedPrecondition, "price: {}, expected the {} that are asked",
                protocol::to_text(body.price), protocol::to_text(*asked));
  }
  COMMENSAL_TRY(context.move(available(context.sender()), available(claim.holder), body.price));
  pass_on(context, body.ticket, std::move(claim), context.sender());
  return {};
}

namespace {

/// Who holds a ticket that is not open, by its receipt and what it was endorsed with.
Result<ClaimRow> unopened(const Context& context, const Settle& body, const Digest& ticket) {
  const protocol::Receipt& receipt = body.receipt;
  COMMENSAL_TRY(protocol::verify_receipt(receipt, context.config().chain_id));
  COMMENSAL_ASSIGN(const Pair pair, pair_of(context.state, receipt));
  COMMENSAL_TRY(expect_new(context, pair, receipt));
  ClaimRow claim;
  claim.beacon = pair.id;
  claim.round = receipt.round;
  claim.receipt = protocol::receipt_id(receipt.body());
  claim.commitment = receipt.commitment;
  claim.gateway = receipt.job.client;
  claim.provider = receipt.job.provider;
  COMMENSAL_ASSIGN(claim.holder, protocol::last_holder(ticket, claim.provider, body.endorsements,
                                                       context.config().chain_id));
  claim.endorsements = body.endorsements.size();
  return claim;
}

/// What two parties agree on is no offence: the penalty escrow has no part in it.
Result<void> settle_out_of_escrow(Context& context, const ClaimRow& claim, const Amount& amount) {
  COMMENSAL_ASSIGN(const Amount found, context.take_locked(claim.gateway, AccountKind::kEscrow,
                                                           available(claim.holder), amount));
  if (found == amount) return {};
  return fail(ErrorCode::kFailedPrecondition, "{}: it covers {}, {} is needed",
              to_text(escrow(claim.gateway)), protocol::to_text(found), protocol::to_text(amount));
}

}  // namespace

Result<void> rule(Context& context, const Settle& body) {
  const protocol::JointSettlement& settlement = body.settlement;
  const Digest ticket = protocol::ticket_id(body.receipt.body());
  COMMENSAL_TRY(expect_not_accused(context, ticket));
  const bool is_open = context.state.claims.find(ticket) != nullptr;
  COMMENSAL_ASSIGN(ClaimRow claim,
                   is_open ? open_claim(context, ticket) : unopened(context, body, ticket));
  if (settlement.ticket != ticket || settlement.client != claim.gateway ||
      settlement.holder != claim.holder) {
    return fail(ErrorCode::kInvalidArgument,
                "settlement: expected ticket {} between {} and its holder {}", core::to_hex(ticket),
                crypto::to_text(claim.gateway), crypto::to_text(claim.holder));
  }
  COMMENSAL_TRY(protocol::verify_settlement(settlement, context.config().chain_id));
  if (is_open) {
    COMMENSAL_TRY(pay_out(context, claim, escrow(claim.gateway), escrow(claim.gateway)));
  }
  COMMENSAL_TRY(settle_out_of_escrow(context, claim, settlement.to_holder));
  // Never out of a stake: two keys of one owner would have it out before it is slashed.
  COMMENSAL_TRY(
      context.move(available(claim.holder), available(claim.gateway), settlement.to_client));
  end_claim(context, ticket, std::move(claim), ClaimStatus::kSettled);
  return {};
}

}  // namespace commensal::ledger
