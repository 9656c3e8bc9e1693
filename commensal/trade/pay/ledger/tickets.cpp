// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>

namespace commensal::ledger {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

Result<beacon::HashChainTracker> tracker_of(const State& state, const Digest& chain) {
  const HashChainRow* row = state.hash_chains.find(chain);
  if (row == nullptr) {
    return fail(ErrorCode::kNotFound, "the hash chain {} is not registered", core::to_hex(chain));
  }
  return beacon::HashChainTracker(row->head, row->round, row->value);
}

}  // namespace

std::span<const std::string_view> enum_names(ClaimStatus) {
  static constexpr std::string_view kNames[] = {"open",    "paid",      "refused",
                                                "settled", "defaulted", "silent"};
  return kNames;
}

Digest hash_chain_key(const protocol::HashChainHead& head) {
  protocol::Writer writer;
  writer.u64(head.first);
  writer.u64(head.rounds);
  return crypto::tagged_hash("commensal/ledger/chain/v1", head.owner.bytes, head.anchor,
                             writer.written());
}

Result<void> room_for_hash_chain(const State& state, const protocol::HashChainHead& head) {
  if (state.hash_chains.find(hash_chain_key(head)) != nullptr) return {};
  // The operator anchors its chain anew from time to time, and so may others then.
  const std::uint32_t count = state.chains_of.get(head.owner);
  const Address& by_all = state.scalars.config.operator_address;
  const std::uint32_t heads = std::max<std::uint32_t>(state.chains_of.get(by_all), 1);
  const std::uint32_t most = limits::kLedgerChainsMax + heads - 1;
  if ((count < most || head.owner == by_all) &&
      state.hash_chains.rows().size() < limits::kLedgerAllChainsMax) {
    return {};
  }
  return fail(ErrorCode::kResourceExhausted, "hash chains: {} of {} are registered, at most {}",
              count, crypto::to_text(head.owner), most);
}

Result<Pair> pair_of(const State& state, const protocol::Receipt& receipt) {
  const auto& beacons = receipt.job.beacons;
  const BeaconRow* row = beacons.size() == 1 ? state.beacons.find(beacons[0]) : nullptr;
  if (row == nullptr) {
    return fail(ErrorCode::kNotFound, "beacon: {} is not registered",
                beacons.empty() ? "no beacon" : core::to_hex(beacons[0]));
  }
  COMMENSAL_ASSIGN(beacon::HashChainTracker gateway, tracker_of(state, row->gateway));
  COMMENSAL_ASSIGN(beacon::HashChainTracker provider, tracker_of(state, row->provider));
  return Pair{beacons[0], *row, std::move(gateway), std::move(provider)};
}

Result<void> accept_reveal(Context& context, const Digest& chain, std::uint64_t round,
                           const Digest& value) {
  COMMENSAL_ASSIGN(beacon::HashChainTracker tracker, tracker_of(context.state, chain));
  const std::uint64_t before = tracker.round();
  COMMENSAL_TRY(tracker.accept(round, value));
  if (tracker.round() == before) return {};
  context.state.hash_chains.set(chain, {tracker.head(), tracker.round(), tracker.value()});
  const auto& demands = context.state.demands.rows();
  for (auto row = demands.lower_bound({chain, 0});
       row != demands.end() && row->first <= DemandKey{chain, round};) {
    context.state.demands.erase((row++)->first);
  }
  return {};
}

bool is_over(const Config& config, std::uint64_t gateways_round, std::uint64_t providers_round,
             std::uint64_t round) {
  const std::uint64_t revealed = std::min(gateways_round, providers_round);
  return revealed > round && (revealed - round - 1) / 2 >= config.opening_rounds;
}

Result<void> expect_new(const Context& context, const Pair& pair,
                        const protocol::Receipt& receipt) {
  const Digest ticket = protocol::ticket_id(receipt.body());
  if (const ClaimRow* row = context.state.claims.find(ticket)) {
    return fail(ErrorCode::kAlreadyExists, "ticket: {} is {} already", core::to_hex(ticket),
                protocol::name_of(row->status));
  }
  const std::uint64_t gateways = pair.gateway.round(), providers = pair.provider.round();
  if (!is_over(context.config(), gateways, providers, receipt.round)) return {};
  return fail(ErrorCode::kDeadlineExceeded,
              "ticket: round {} is over for good, both have revealed round {}", receipt.round,
              std::min(gateways, providers));
}

ClaimRow closed_row(const protocol::Receipt& receipt, const Digest& receipt_id,
                    ClaimStatus status) {
  ClaimRow claim;
  claim.status = status;
  claim.receipt = receipt_id;
  claim.commitment = receipt.commitment;
  claim.gateway = receipt.job.client;
  claim.provider = claim.holder = receipt.job.provider;
  if (receipt.job.beacons.size() == 1) claim.beacon = receipt.job.beacons[0];
  claim.round = receipt.round;
  return claim;
}

Result<ClaimRow> open_claim(const Context& context, const Digest& ticket) {
  const ClaimRow* row = context.state.claims.find(ticket);
  if (row == nullptr) {
    return fail(ErrorCode::kNotFound, "ticket: {} is not open", core::to_hex(ticket));
  }
  if (row->status != ClaimStatus::kOpen) {
    return fail(ErrorCode::kAlreadyExists, "ticket: {} is {} already", core::to_hex(ticket),
                protocol::name_of(row->status));
  }
  return *row;
}

Result<void> take_escrow(Context& context, const Address& gateway, const AccountId& to,
                         const Amount& amount) {
  const auto take = [&](AccountKind kind, const AccountId& into, const Amount& wanted) {
    return context.take_locked(gateway, kind, into, wanted);
  };
  COMMENSAL_ASSIGN(const Amount found, take(AccountKind::kEscrow, to, amount));
  COMMENSAL_ASSIGN(const Amount lacking, amount.minus(found));
  COMMENSAL_ASSIGN(const Amount paid, take(AccountKind::kPenaltyEscrow, to, lacking));
  COMMENSAL_ASSIGN(const Amount burnt, take(AccountKind::kPenaltyEscrow, kBurnt, lacking));
  if (paid == lacking && burnt == lacking) return {};
  COMMENSAL_ASSIGN(const Amount penalty, paid.plus(burnt));
  return fail(ErrorCode::kFailedPrecondition,
              "{}: it covers {}, {} is needed, and a penalty escrow of {} not twice the rest",
              to_text(AccountId{gateway, AccountKind::kEscrow}), protocol::to_text(found),
              protocol::to_text(amount), protocol::to_text(penalty));
}

void end_claim(Context& context, const Digest& ticket, ClaimRow claim, ClaimStatus status) {
  claim.status = status;
  context.state.claims.set(ticket, std::move(claim));
  context.state.asked.erase(ticket);
}

Result<void> pay_out(Context& context, const ClaimRow& claim, const AccountId& face_to,
                     const AccountId& fee_to) {
  const AccountId reserved{claim.gateway, AccountKind::kClaims};
  COMMENSAL_TRY(context.move(reserved, face_to, claim.face));
  return context.move(reserved, fee_to, claim.fee);
}

}  // namespace commensal::ledger
