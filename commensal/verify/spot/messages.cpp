// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_audit.hpp>
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/signer.hpp>
#include <commensal/verify/arbiter/evidence.hpp>
#include <commensal/verify/spot/messages.hpp>
#include <cstring>

namespace commensal::spot {
namespace {

using core::ErrorCode;
using protocol::Reader;
using protocol::Writer;

enum class Tag : std::uint8_t { kRequest = 1, kRoots = 2, kOpenings = 3 };
constexpr std::uint8_t kVersion = 1;

void begin(Writer& writer, Tag tag) {
  writer.u8(static_cast<std::uint8_t>(tag));
  writer.u8(kVersion);
}

core::Result<void> expect(Reader& reader, Tag tag, std::size_t size, std::size_t size_max,
                          std::string_view what) {
  if (size > size_max) {
    return core::fail(ErrorCode::kResourceExhausted, "{}: {} bytes, at most {} are accepted", what,
                      size, size_max);
  }
  const std::uint8_t found = reader.u8(), version = reader.u8();
  if (reader.ok() && (found != static_cast<std::uint8_t>(tag) || version != kVersion)) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "{}: tag {} of version {}, expected tag {} of version {}", what, found,
                      version, static_cast<int>(tag), kVersion);
  }
  return {};
}

constexpr std::uint8_t kAllElementwise = 1, kHoldsWeights = 2;

Digest digest_of(const Roots& roots, const Digest& input_root, const Digest& list_root,
                 std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return crypto::typed_digest(
      domain, crypto::StructHash("OperatorRoots(bytes32 receiptId,uint64 round,bytes32 inputRoot,"
                                 "bytes32 listRoot,uint64 nodes)")
                  .word(roots.receipt_id)
                  .uint(roots.round)
                  .word(input_root)
                  .word(list_root)
                  .uint(roots.list.size())
                  .finish());
}

}  // namespace

Bytes encode(const Request& request) {
  Writer writer;
  begin(writer, Tag::kRequest);
  writer.raw(request.receipt_id);
  writer.u64(request.round);
  const Terms& terms = request.terms;
  for (const auto count : {terms.elements, terms.last, terms.leaves, terms.products}) {
    writer.u16(static_cast<std::uint16_t>(count));
  }
  writer.u8(static_cast<std::uint8_t>((terms.all_elementwise ? kAllElementwise : 0) |
                                      (terms.holds_weights ? kHoldsWeights : 0)));
  return std::move(writer).take();
}

core::Result<Request> decode_request(ByteView bytes) {
  Reader reader(bytes, "audit request");
  COMMENSAL_TRY(expect(reader, Tag::kRequest, bytes.size(), limits::kNounBytesMax,
                       "audit request"));
  Request made;
  read_raw(reader, made.receipt_id);
  made.round = reader.u64();
  for (auto* count : {&made.terms.elements, &made.terms.last, &made.terms.leaves,
                      &made.terms.products}) {
    *count = reader.u16();
  }
  const std::uint8_t flags = reader.u8();
  if ((flags & ~(kAllElementwise | kHoldsWeights)) != 0) {
    reader.refuse(ErrorCode::kInvalidArgument, "an unknown flag");
  }
  made.terms.all_elementwise = (flags & kAllElementwise) != 0;
  made.terms.holds_weights = (flags & kHoldsWeights) != 0;
  COMMENSAL_TRY(reader.finish());
  COMMENSAL_TRY(check(made.terms));
  return made;
}

Bytes encode(const Roots& roots) {
  Writer writer;
  begin(writer, Tag::kRoots);
  writer.raw(roots.receipt_id);
  writer.u64(roots.round);
  writer.count(roots.inputs.size());
  for (const TensorFacts& facts : roots.inputs) write(writer, facts);
  writer.count(roots.list.size());
  for (const arbiter::TraceLeaf& leaf : roots.list) writer.bytes(arbiter::encode(leaf));
  writer.raw(roots.signature.bytes);
  return std::move(writer).take();
}

core::Result<Roots> decode_roots(ByteView bytes) {
  Reader reader(bytes, "operator roots");
  COMMENSAL_TRY(expect(reader, Tag::kRoots, bytes.size(), limits::kAuditListBytesMax,
                       "operator roots"));
  Roots made;
  read_raw(reader, made.receipt_id);
  made.round = reader.u64();
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    read(reader, made.inputs.emplace_back());
  }
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    const ByteView leaf = reader.bytes(limits::kDisputeLeafBytesMax);
    if (!reader.ok()) break;
    auto decoded = arbiter::decode_trace_leaf(leaf);
    if (!decoded) return core::in_context("operator roots", decoded.error());
    made.list.push_back(*std::move(decoded));
  }
  read_raw(reader, made.signature.bytes);
  COMMENSAL_TRY(reader.finish());
  return made;
}

Digest list_root(const std::vector<arbiter::TraceLeaf>& list) {
  crypto::MerkleBuilder builder;
  for (const arbiter::TraceLeaf& leaf : list) builder.add(crypto::leaf_hash(arbiter::encode(leaf)));
  return builder.root();
}

Digest input_root(const graph::Graph& graph, const std::vector<TensorFacts>& inputs) {
  crypto::MerkleBuilder builder;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Writer leaf;
    leaf.text(graph.name_of(graph.inputs[i]));
    leaf.raw(arbiter::tensor_root(inputs[i]));
    builder.add(crypto::leaf_hash(leaf.written()));
  }
  return arbiter::counted_root("commensal/state/v1", inputs.size(), builder.root());
}

void sign(Roots& roots, const Digest& input_root, const Digest& list_root,
          const crypto::SecretKey& key) {
  roots.signature =
      crypto::sign(key, digest_of(roots, input_root, list_root, protocol::kEmbeddedLedger));
}

core::Result<void> check_signature(const Roots& roots, const Digest& input_root,
                                   const Digest& list_root, const crypto::Address& provider) {
  const auto verified = protocol::verify_signer(
      [&](std::uint64_t chain) { return digest_of(roots, input_root, list_root, chain); },
      roots.signature, provider, protocol::kEmbeddedLedger);
  if (!verified) return core::in_context("operator roots", verified.error());
  return {};
}

Bytes encode(const Openings& openings) {
  Writer writer;
  begin(writer, Tag::kOpenings);
  writer.raw(openings.receipt_id);
  writer.u64(openings.round);
  writer.count(openings.parts.size());
  for (const Part& part : openings.parts) {
    writer.bytes(part.leaves);
    writer.count(part.siblings.size());
    for (const Digest& sibling : part.siblings) writer.raw(sibling);
  }
  return std::move(writer).take();
}

core::Result<Openings> decode_openings(ByteView bytes) {
  Reader reader(bytes, "openings");
  COMMENSAL_TRY(expect(reader, Tag::kOpenings, bytes.size(), limits::kAuditOpeningsBytesMax,
                       "openings"));
  Openings made;
  read_raw(reader, made.receipt_id);
  made.round = reader.u64();
  for (std::size_t left = reader.count(limits::kAuditPartsMax); left > 0 && reader.ok(); --left) {
    Part& part = made.parts.emplace_back();
    part.leaves = reader.bytes(limits::kAuditOpeningsBytesMax);
    const std::size_t count = reader.count(limits::kAuditSiblingsMax);
    const ByteView siblings = reader.raw(count * sizeof(Digest));
    if (!reader.ok()) break;
    part.siblings.resize(count);
    if (count > 0) std::memcpy(part.siblings.data(), siblings.data(), siblings.size());
  }
  COMMENSAL_TRY(reader.finish());
  return made;
}

}  // namespace commensal::spot
