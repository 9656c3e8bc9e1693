// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/descent.hpp>
#include <commensal/verify/arbiter/evidence.hpp>

/// What the sides of a dispute send. Bounded: limits::kDisputeMoveBytesMax each.
namespace commensal::arbiter {

enum class MoveKind : std::uint8_t {
  kClaim,         // of a trace, with proofs that it ends in what the receipt (or the side) says
  kChildren,      // the two hashes below the present node
  kLeaf,          // the bytes of the leaf that was reached
  kSegmentClaim,  // of the nodes of a segment
  kCarried,       // where a value of a checkpoint comes from
  kFacts,         // the node and its inputs
  kElementClaim,  // of an element's operations, with the last of them
  kOperands,      // of the operation where both part
};
std::span<const std::string_view> enum_names(MoveKind);

struct Move {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kDisputeMove;

  Digest dispute{};         // dispute_id
  std::uint32_t round = 0;  // from 0
  MoveKind kind = MoveKind::kClaim;
  Bytes body;  // one of those below

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("dispute", self.dispute);
    archive.field("round", self.round);
    archive.field("kind", self.kind);
    archive.field("body", self.body);
  }
};
/// H("commensal/dispute/v1", receipt id | challenger).
Digest dispute_id(const Digest& receipt_id, const crypto::Address& challenger);

struct ClaimBody {
  TraceClaim claim;
  GraphSizes sizes;
  std::vector<OutputProof> outputs;
};
struct ElementBody {
  ElementClaim claim;
  LeafProof last;  // the leaf with the last step
};
using OperandsBody = std::vector<LeafProof>;

Bytes encode_body(const ClaimBody& body);
Bytes encode_body(const SegmentClaim& body);
Bytes encode_body(const TensorProof& body);
Bytes encode_body(const Children& body);
Bytes encode_body(const NodeFacts& body);
Bytes encode_body(const ElementBody& body);
Bytes encode_body(const OperandsBody& body);
/// Errors: kInvalidArgument or kResourceExhausted, naming the field.
template <class Body>
core::Result<Body> decode_body(ByteView bytes);

/// The same move with the claim in it signed, if there is one, so that who makes moves need not
/// have the key. `move` is encoded, and so is what is returned. Whatever the claim says is signed:
/// who does not believe whoever made it looks at it before. Errors: those of decoding.
core::Result<Bytes> sign_move(const crypto::SecretKey& key, ByteView move);

}  // namespace commensal::arbiter
