// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/market/panel/move.hpp>

namespace commensal::panel {
namespace {

using core::ErrorCode;
using core::fail;

Digest digest_of(const Move& move, std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return crypto::typed_digest(
      domain, crypto::StructHash("PanelMove(bytes32 caseId,uint64 instance,uint8 kind,"
                                 "uint8 ruling,bytes32 word,address actor)")
                  .word(move.case_id)
                  .uint(move.instance)
                  .uint(static_cast<std::uint64_t>(move.kind))
                  .uint(static_cast<std::uint64_t>(move.ruling))
                  .word(move.word)
                  .address(move.actor)
                  .finish());
}

template <class Noun>
Result<Deed> read_body(core::ByteView body) {
  COMMENSAL_ASSIGN(Noun noun, protocol::decode<Noun>(body));
  return noun;
}

Result<Deed> read_timeout(core::ByteView body) {
  if (body.empty()) return Timeout();
  return fail(ErrorCode::kInvalidArgument, "timeout: {} bytes, expected none", body.size());
}

/// In the order of EventKind and of Deed.
constexpr Result<Deed> (*kBodies[])(core::ByteView) = {
    read_body<Move>, read_body<Draw>, read_body<protocol::JointSettlement>, read_timeout};

struct Encoder {
  template <class Noun>
  core::Bytes operator()(const Noun& noun) const {
    return protocol::encode(noun);
  }
  core::Bytes operator()(const Timeout&) const { return {}; }
};

}  // namespace

std::span<const std::string_view> enum_names(Ruling) {
  static constexpr std::string_view kNames[] = {"for the client", "for the holder"};
  return kNames;
}

std::span<const std::string_view> enum_names(MoveKind) {
  static constexpr std::string_view kNames[] = {"accept", "object", "commit",
                                                "reveal", "appeal", "decide"};
  return kNames;
}

std::span<const std::string_view> enum_names(EventKind) {
  static constexpr std::string_view kNames[] = {"move", "draw", "settlement", "timeout"};
  return kNames;
}

Result<void> Move::validity() const {
  const bool rules = kind == MoveKind::kReveal || kind == MoveKind::kDecide;
  const bool votes = kind == MoveKind::kReveal || kind == MoveKind::kCommit;
  if (!rules && ruling != Ruling::kForClient) {
    return fail(ErrorCode::kInvalidArgument, "ruling: not of kind '{}', expected 0",
                protocol::name_of(kind));
  }
  if (!votes && word != Digest{}) {
    return fail(ErrorCode::kInvalidArgument, "word: not of kind '{}', expected 0",
                protocol::name_of(kind));
  }
  return {};
}

Move sign_move(const crypto::SecretKey& key, Move move, std::uint64_t chain_id) {
  move.actor = key.address();
  move.signature = crypto::sign(key, digest_of(move, chain_id));
  return move;
}

Result<void> verify_move(const Move& move, std::uint64_t chain_id) {
  const auto by_actor =
      protocol::verify_signer([&](std::uint64_t chain) { return digest_of(move, chain); },
                              move.signature, move.actor, chain_id);
  if (!by_actor) return core::in_context("panel move", by_actor.error());
  return {};
}

Digest vote_commitment(const Digest& case_id, std::uint64_t instance, const Address& member,
                       Ruling ruling, const Digest& salt) {
  protocol::Writer writer;
  writer.raw(case_id);
  writer.u64(instance);
  writer.raw(member.bytes);
  writer.u8(static_cast<std::uint8_t>(ruling));
  writer.raw(salt);
  return crypto::tagged_hash("commensal/panel/vote/v1", writer.written());
}

Result<void> Event::validity() const {
  if (at_ms > limits::kPanelTimeMsMax || round > limits::kPanelTimeMsMax) {
    return fail(ErrorCode::kInvalidArgument, "at_ms and round: {} and {}, expected at most {}",
                at_ms, round, limits::kPanelTimeMsMax);
  }
  COMMENSAL_TRY(deed_of(*this));
  return {};
}

Result<Deed> deed_of(const Event& event) {
  return kBodies[static_cast<std::size_t>(event.kind)](event.body);
}

Event event_of(const Deed& deed) {
  Event event;
  event.kind = static_cast<EventKind>(deed.index());
  event.body = std::visit(Encoder(), deed);
  return event;
}

}  // namespace commensal::panel
