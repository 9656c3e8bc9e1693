// SPDX-License-Identifier: Apache-2.0
// What was not shown: winners that are not opened, reveals that are withheld.
#include <commensal/trade/pay/ledger/punish.hpp>
#include <commensal/trade/pay/ledger/rules.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::ledger {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

void close_ticket(Context& context, const protocol::Receipt& receipt,
                  const ticket::CheckedClaim& checked, ClaimStatus status) {
  context.state.claims.set(checked.ticket, closed_row(receipt, checked.receipt, status));
}

Result<void> expect_won(const Pair& pair, const protocol::Receipt& receipt) {
  COMMENSAL_ASSIGN(const Digest by_gateway, pair.gateway.value_of(receipt.round));
  COMMENSAL_ASSIGN(const Digest by_provider, pair.provider.value_of(receipt.round));
  const Digest drawn =
      ticket::draw(protocol::beacon_value(receipt.round, by_gateway, by_provider), receipt.body());
  if (ticket::wins(drawn, receipt.job.win_threshold)) return {};
  return fail(ErrorCode::kInvalidArgument, "ticket: it has lost, nobody needs to open it");
}

/// Who has not revealed a round. The gateway is asked first: the provider may wait for it.
struct Missing {
  DemandKey key;
  bool gateway = false;
};
Result<Missing> missing_reveal(const Pair& pair, std::uint64_t round) {
  if (pair.gateway.round() < round) return Missing{{pair.keys.gateway, round}, true};
  if (pair.provider.round() < round) return Missing{{pair.keys.provider, round}, false};
  return fail(ErrorCode::kFailedPrecondition, "demand: both have revealed round {}", round);
}

}  // namespace

Result<void> rule(Context& context, const Silence& body) {
  COMMENSAL_ASSIGN(const Pair pair, pair_of(context.state, body.receipt));
  COMMENSAL_TRY(expect_new(context, pair, body.receipt));
  const std::uint64_t round = body.receipt.round;
  const std::uint64_t allowed = context.config().opening_rounds;
  const std::uint64_t acknowledged = pair.provider.round();
  if (acknowledged < round || acknowledged - round <= allowed) {
    return fail(ErrorCode::kFailedPrecondition,
                "silence: the provider may still open: it has acknowledged round {}, and has {} "
                "rounds after round {}",
                acknowledged, allowed, round);
  }
  COMMENSAL_TRY(expect_won(pair, body.receipt));
  COMMENSAL_ASSIGN(
      const ticket::CheckedClaim checked,
      ticket::verify_ticket(body.receipt, pair.gateway, pair.provider, context.config().chain_id));
  close_ticket(context, body.receipt, checked, ClaimStatus::kSilent);
  const protocol::Job& job = body.receipt.job;
  COMMENSAL_TRY(punish(context, Offence::kSilence, job.provider, job.client));
  return {};
}

Result<void> rule(Context& context, const Demand& body) {
  COMMENSAL_ASSIGN(const Pair pair, pair_of(context.state, body.receipt));
  COMMENSAL_ASSIGN(const Missing missing, missing_reveal(pair, body.receipt.round));
  const protocol::Job& job = body.receipt.job;
  const Address& asker = missing.gateway ? job.provider : job.client;
  if (context.sender() != asker) {
    return fail(ErrorCode::kPermissionDenied, "sender: {}, expected the other party {}",
                crypto::to_text(context.sender()), crypto::to_text(asker));
  }
  if (const auto* deadline_ms = context.state.demands.find(missing.key)) {
    return fail(ErrorCode::kAlreadyExists, "demand: round {} is asked for already, until {} ms",
                body.receipt.round, *deadline_ms);
  }
  COMMENSAL_TRY(
      ticket::verify_ticket(body.receipt, pair.gateway, pair.provider, context.config().chain_id));
  const Config& config = context.config();
  const std::uint64_t delay_ms = missing.gateway ? config.reveal_delay_ms : config.absence_delay_ms;
  std::uint64_t deadline_ms = 0;
  if (__builtin_add_overflow(context.time_ms(), delay_ms, &deadline_ms)) {
    return fail(ErrorCode::kInvalidArgument, "clock: {} ms leaves no room for the delay",
                context.time_ms());
  }
  context.state.demands.set(missing.key, deadline_ms);
  return {};
}

namespace {

Result<void> gateway_default(Context& context, const Default& body, const Digest& ticket) {
  const protocol::Job& job = body.receipt.job;
  COMMENSAL_ASSIGN(
      const Address holder,
      protocol::last_holder(ticket, job.provider, body.endorsements, context.config().chain_id));
  const Amount worth = ticket::expected_value(job.face_value, job.win_threshold);
  COMMENSAL_TRY(take_escrow(context, job.client, {holder, AccountKind::kAvailable}, worth));
  COMMENSAL_TRY(punish(context, Offence::kGatewayDefault, job.client, holder));
  return {};
}

}  // namespace

Result<void> rule(Context& context, const Default& body) {
  COMMENSAL_ASSIGN(const Pair pair, pair_of(context.state, body.receipt));
  COMMENSAL_TRY(expect_new(context, pair, body.receipt));
  COMMENSAL_ASSIGN(const Missing missing, missing_reveal(pair, body.receipt.round));
  const auto* deadline_ms = context.state.demands.find(missing.key);
  if (deadline_ms == nullptr || context.time_ms() <= *deadline_ms) {
    return fail(ErrorCode::kFailedPrecondition, "default: {}, now it is {} ms",
                deadline_ms == nullptr
                    ? "nobody has asked for the reveal"
                    : fmt::format("the reveal has time until {} ms", *deadline_ms),
                context.time_ms());
  }
  COMMENSAL_ASSIGN(
      const ticket::CheckedClaim checked,
      ticket::verify_ticket(body.receipt, pair.gateway, pair.provider, context.config().chain_id));
  close_ticket(context, body.receipt, checked, ClaimStatus::kDefaulted);
  if (missing.gateway) return gateway_default(context, body, checked.ticket);
  if (!body.endorsements.empty()) {
    return fail(ErrorCode::kInvalidArgument, "default: {} endorsements, a provider's names none",
                body.endorsements.size());
  }
  // Slashed once for each demand, whatever the number of tickets in the round.
  context.state.demands.erase(missing.key);
  const protocol::Job& job = body.receipt.job;
  COMMENSAL_TRY(punish(context, Offence::kWithheldReveal, job.provider, job.client));
  return {};
}

}  // namespace commensal::ledger
