// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/verify/arbiter/moves.hpp>

namespace commensal::arbiter {
namespace {

using protocol::Reader;
using protocol::Writer;

void put(Writer& writer, const ClaimBody& body) {
  protocol::write(writer, body.claim);
  writer.u64(body.sizes.inputs);
  writer.u64(body.sizes.nodes);
  writer.u64(body.sizes.outputs);
  protocol::write(writer, body.outputs);
}
void take(Reader& reader, ClaimBody& body) {
  reader.field("claim", body.claim);
  body.sizes.inputs = reader.u64();
  body.sizes.nodes = reader.u64();
  body.sizes.outputs = reader.u64();
  reader.field("outputs", body.outputs);
}
void put(Writer& writer, const SegmentClaim& body) { protocol::write(writer, body); }
void take(Reader& reader, SegmentClaim& body) { protocol::read(reader, body); }
void put(Writer& writer, const TensorProof& body) { write(writer, body); }
void take(Reader& reader, TensorProof& body) { read(reader, body); }
void put(Writer& writer, const Children& body) {
  writer.raw(body.left);
  writer.raw(body.right);
}
void take(Reader& reader, Children& body) {
  read_raw(reader, body.left);
  read_raw(reader, body.right);
}
void put(Writer& writer, const NodeFacts& body) { write(writer, body); }
void take(Reader& reader, NodeFacts& body) { read(reader, body); }
void put(Writer& writer, const ElementBody& body) {
  protocol::write(writer, body.claim);
  write(writer, body.last);
}
void take(Reader& reader, ElementBody& body) {
  reader.field("claim", body.claim);
  reader.field("last", body.last);
}
void put(Writer& writer, const OperandsBody& body) { protocol::write(writer, body); }
void take(Reader& reader, OperandsBody& body) { protocol::read(reader, body); }

template <class Body>
Bytes encoded(const Body& body) {
  Writer writer;
  put(writer, body);
  return std::move(writer).take();
}

ClaimBody signed_by(const crypto::SecretKey& key, ClaimBody body) {
  body.claim = sign_claim(key, std::move(body.claim));
  return body;
}
SegmentClaim signed_by(const crypto::SecretKey& key, SegmentClaim body) {
  return sign_claim(key, std::move(body));
}
ElementBody signed_by(const crypto::SecretKey& key, ElementBody body) {
  body.claim = sign_claim(key, std::move(body.claim));
  return body;
}

template <class Body>
core::Result<Bytes> signed_body(const crypto::SecretKey& key, ByteView bytes) {
  COMMENSAL_ASSIGN(Body body, decode_body<Body>(bytes));
  return encoded(signed_by(key, std::move(body)));
}

}  // namespace

std::span<const std::string_view> enum_names(MoveKind) {
  static constexpr std::string_view kNames[] = {"claim",         "children", "leaf",
                                                "segment claim", "carried",  "facts",
                                                "element claim", "operands"};
  return kNames;
}

Digest dispute_id(const Digest& receipt_id, const crypto::Address& challenger) {
  return crypto::tagged_hash("commensal/dispute/v1", receipt_id, challenger.bytes);
}

Bytes encode_body(const ClaimBody& body) { return encoded(body); }
Bytes encode_body(const SegmentClaim& body) { return encoded(body); }
Bytes encode_body(const TensorProof& body) { return encoded(body); }
Bytes encode_body(const Children& body) { return encoded(body); }
Bytes encode_body(const NodeFacts& body) { return encoded(body); }
Bytes encode_body(const ElementBody& body) { return encoded(body); }
Bytes encode_body(const OperandsBody& body) { return encoded(body); }

template <class Body>
core::Result<Body> decode_body(ByteView bytes) {
  Reader reader(bytes, "body");
  Body body;
  take(reader, body);
  COMMENSAL_TRY(reader.finish());
  return body;
}
template core::Result<ClaimBody> decode_body(ByteView);
template core::Result<SegmentClaim> decode_body(ByteView);
template core::Result<TensorProof> decode_body(ByteView);
template core::Result<Children> decode_body(ByteView);
template core::Result<NodeFacts> decode_body(ByteView);
template core::Result<ElementBody> decode_body(ByteView);
template core::Result<OperandsBody> decode_body(ByteView);

core::Result<Bytes> sign_move(const crypto::SecretKey& key, ByteView bytes) {
  COMMENSAL_ASSIGN(Move move, protocol::decode<Move>(bytes));
  if (move.kind == MoveKind::kClaim) {
    COMMENSAL_ASSIGN(move.body, signed_body<ClaimBody>(key, move.body));
  } else if (move.kind == MoveKind::kSegmentClaim) {
    COMMENSAL_ASSIGN(move.body, signed_body<SegmentClaim>(key, move.body));
  } else if (move.kind == MoveKind::kElementClaim) {
    COMMENSAL_ASSIGN(move.body, signed_body<ElementBody>(key, move.body));
  }
  return protocol::encode(move);
}

}  // namespace commensal::arbiter
