// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/verify/spot/question.hpp>

/// What the two sides of a sublinear audit send: one byte of tag, one of version, the fields. One
/// value has one encoding. Decoders are bounded (limits_audit.hpp) and refuse by name:
/// kInvalidArgument or kResourceExhausted. Pure functions.
namespace commensal::spot {

using core::Bytes;
using core::ByteView;

/// Auditor to provider: publish the roots of all operators of this step; what is opened is drawn
/// by this round of the beacon, which is not over yet.
struct Request {
  Digest receipt_id{};
  std::uint64_t round = 0;
  Terms terms;
  bool operator==(const Request&) const = default;
};
Bytes encode(const Request& request);
core::Result<Request> decode_request(ByteView bytes);

/// Provider to auditor, signed: these are the roots of all that the step was computed from and of
/// all that its operators put out. EIP-712: OperatorRoots(bytes32 receiptId,uint64 round,
/// bytes32 inputRoot,bytes32 listRoot,uint64 nodes).
struct Roots {
  Digest receipt_id{};
  std::uint64_t round = 0;
  std::vector<TensorFacts> inputs;         // in the graph's order
  std::vector<arbiter::TraceLeaf> list;    // of all nodes, in the graph's order
  crypto::Signature signature;
  bool operator==(const Roots&) const = default;
};
Bytes encode(const Roots& roots);
core::Result<Roots> decode_roots(ByteView bytes);
/// Over the encodings of the list's leaves.
Digest list_root(const std::vector<arbiter::TraceLeaf>& list);
/// State root of the inputs, by the graph's names.
Digest input_root(const graph::Graph& graph, const std::vector<TensorFacts>& inputs);
/// Signs; `list_root` and `input_root` are those of `roots`.
void sign(Roots& roots, const Digest& input_root, const Digest& list_root,
          const crypto::SecretKey& key);
/// Errors: kUnauthenticated, kInvalidArgument.
core::Result<void> check_signature(const Roots& roots, const Digest& input_root,
                                   const Digest& list_root, const crypto::Address& provider);

/// One tensor's leaves, one behind the other, and what proves them.
struct Part {
  ByteView leaves;  // of the message
  std::vector<Digest> siblings;
};
/// Provider to auditor: for each question, in order, the leaves of its inputs that steer, of its
/// other inputs, and of its output.
struct Openings {
  Digest receipt_id{};
  std::uint64_t round = 0;
  std::vector<Part> parts;
};
Bytes encode(const Openings& openings);
/// Views into `bytes`, which must outlive them.
core::Result<Openings> decode_openings(ByteView bytes);

}  // namespace commensal::spot
