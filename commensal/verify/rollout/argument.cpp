// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/verify/rollout/argument.hpp>

namespace commensal::rollout {
namespace {

using arbiter::MoveKind;
using core::ErrorCode;
using core::fail;

/// The id of what the side has claimed with its first move. Error: it has not.
core::Result<core::Digest> own_claim(const Argument& argument) {
  const auto own = std::ranges::find(argument.moves, argument.side, &Said::side);
  if (own == argument.moves.end()) return fail(ErrorCode::kDataLoss, "a claim before the first");
  COMMENSAL_ASSIGN(const auto move, protocol::decode<arbiter::Move>(own->move));
  COMMENSAL_ASSIGN(const auto body, arbiter::decode_body<arbiter::ClaimBody>(move.body));
  return arbiter::claim_id(body.claim);
}

/// That the claim in the move, if there is one, belongs to this dispute and side.
core::Result<bool> is_of(const Argument& argument, const arbiter::Move& move) {
  if (move.kind == MoveKind::kClaim) {
    COMMENSAL_ASSIGN(const auto body, arbiter::decode_body<arbiter::ClaimBody>(move.body));
    return body.claim.receipt_id == protocol::receipt_id(argument.setup.receipt.body()) &&
           body.claim.side == argument.side;
  }
  if (move.kind == MoveKind::kSegmentClaim) {
    COMMENSAL_ASSIGN(const auto body, arbiter::decode_body<arbiter::SegmentClaim>(move.body));
    COMMENSAL_ASSIGN(const core::Digest own, own_claim(argument));
    return body.claim_id == own;
  }
  if (move.kind == MoveKind::kElementClaim) {
    COMMENSAL_ASSIGN(const auto body, arbiter::decode_body<arbiter::ElementBody>(move.body));
    COMMENSAL_ASSIGN(const core::Digest own, own_claim(argument));
    return body.claim.claim_id == own;
  }
  return true;
}

}  // namespace

core::Result<void> check_bounds(const Argument& argument) {
  std::array<std::size_t, arbiter::kSides> bytes{};
  for (const Said& said : argument.moves) {
    std::size_t& all = bytes[at(said.side)];
    all += said.move.size();
    if (said.move.size() <= limits::kDisputeMoveBytesMax && all <= limits::kDisputeBytesMax) {
      continue;
    }
    return fail(ErrorCode::kResourceExhausted,
                "moves of more than {} bytes, or {} of one side in all",
                limits::kDisputeMoveBytesMax, limits::kDisputeBytesMax);
  }
  return {};
}

core::Result<void> check_counsel(const Argument& argument, const Counsel& counsel) {
  if (!counsel.move) return {};
  if (counsel.move->size() > limits::kDisputeMoveBytesMax) {
    return fail(ErrorCode::kDataLoss, "a move of {} bytes", counsel.move->size());
  }
  const arbiter::Setup& setup = argument.setup;
  const auto move = protocol::decode<arbiter::Move>(*counsel.move);
  if (!move) return fail(ErrorCode::kDataLoss, "{}", move.error().message);
  if (move->dispute != arbiter::id_of(setup)) {
    return fail(ErrorCode::kDataLoss, "a move of another dispute");
  }
  const auto fits = is_of(argument, *move);
  if (!fits) return fail(ErrorCode::kDataLoss, "{}", fits.error().message);
  if (!*fits) return fail(ErrorCode::kDataLoss, "a claim of another dispute or side");
  return {};
}

}  // namespace commensal::rollout
