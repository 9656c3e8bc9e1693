// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/ticket.hpp>
#include <commensal/trade/market/panel/terms.hpp>
#include <variant>

namespace commensal::panel {

enum class Ruling : std::uint8_t { kForClient, kForHolder };
std::span<const std::string_view> enum_names(Ruling);

/// What somebody does. The numbers are signed and stored: never reorder.
enum class MoveKind : std::uint8_t {
  kAccept,  // the client, or who has lost: it ends here
  kObject,  // the client: the claim is not right; stakes case.stake_asked()
  kCommit,  // a member: `word` is vote_commitment()
  kReveal,  // likewise: `ruling`, and `word` is its salt
  kAppeal,  // who has lost; stakes case.stake_asked()
  kDecide,  // the arbiter: `ruling`
};
std::span<const std::string_view> enum_names(MoveKind);

/// Signed by `actor` (EIP-712: PanelMove(bytes32 caseId,uint64 instance,uint8 kind,uint8 ruling,
/// bytes32 word,address actor)).
struct Move {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kPanelMove;

  Digest case_id{};
  std::uint64_t instance = 0;  // how many there were, the present one included
  MoveKind kind = MoveKind::kAccept;
  Ruling ruling = Ruling::kForClient;  // of kReveal and kDecide, else kForClient
  Digest word{};                       // of kCommit and kReveal, else zero
  Address actor;
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("case_id", self.case_id);
    archive.field("instance", self.instance);
    archive.field("kind", self.kind);
    archive.field("ruling", self.ruling);
    archive.field("word", self.word);
    archive.field("actor", self.actor);
    archive.field("signature", self.signature);
  }
  /// Error: kInvalidArgument where a field is set that its kind does not have.
  Result<void> validity() const;
  bool operator==(const Move&) const = default;
};

/// Fills in actor and signature.
Move sign_move(const crypto::SecretKey& key, Move move, std::uint64_t chain_id);
/// Errors: kUnauthenticated, kInvalidArgument.
Result<void> verify_move(const Move& move, std::uint64_t chain_id);

/// H("commensal/panel/vote/v1", case | instance as u64 | member | ruling as u8 | salt): nobody can
/// copy a vote that is not revealed. The salt is 32 random bytes.
Digest vote_commitment(const Digest& case_id, std::uint64_t instance, const Address& member,
                       Ruling ruling, const Digest& salt);

/// The beacon has spoken. The caller has checked that this is the value of that round.
struct Draw {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kPanelDraw;

  std::uint64_t round = 0;
  Digest beacon{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("round", self.round);
    archive.field("beacon", self.beacon);
  }
  bool operator==(const Draw&) const = default;
};

enum class EventKind : std::uint8_t { kMove, kDraw, kSettlement, kTimeout };
std::span<const std::string_view> enum_names(EventKind);

/// One line of a case's journal. Whoever keeps the journal gives number, time and round.
struct Event {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kPanelEvent;

  std::uint64_t number = 0;  // 0, 1, ...
  std::uint64_t at_ms = 0;   // since 1970; never goes back
  std::uint64_t round = 0;   // the last of the beacon that anyone may know; never goes back
  EventKind kind = EventKind::kTimeout;
  core::Bytes body;  // a Move, Draw or protocol::JointSettlement, encoded; none of kTimeout

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("number", self.number);
    archive.field("at_ms", self.at_ms);
    archive.field("round", self.round);
    archive.field("kind", self.kind);
    archive.field("body", self.body);
  }
  /// Errors: those of the body's decoder; kInvalidArgument for a time out of range.
  Result<void> validity() const;
  bool operator==(const Event&) const = default;
};

/// A deadline has passed: whose turn it was loses it.
struct Timeout {};
using Deed = std::variant<Move, Draw, protocol::JointSettlement, Timeout>;
/// The event's body. Errors: as validity().
Result<Deed> deed_of(const Event& event);
/// Kind and body of an event; the rest is its keeper's.
Event event_of(const Deed& deed);

}  // namespace commensal::panel
