// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/receipt.hpp>

/// What the two sides of a dispute sign.
namespace commensal::arbiter {

using core::Digest;

enum class Side : std::uint8_t {
  kProvider,    // signed the receipt
  kChallenger,  // says that it is wrong: an auditor, a client
};
inline constexpr std::size_t kSides = 2;
inline std::size_t at(Side side) { return static_cast<std::size_t>(side); }
inline Side other(Side side) {
  return side == Side::kProvider ? Side::kChallenger : Side::kProvider;
}
std::span<const std::string_view> enum_names(Side);

/// "I ran this step of the job, and these are the roots of all that its nodes put out."
struct TraceClaim {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kTraceClaim;

  Digest receipt_id{};
  Side side = Side::kProvider;
  crypto::Address party;
  Digest input_root{};   // state root of what the step was computed from
  Digest output_root{};  // state root of what came out
  Digest trace_root{};   // over the checkpoints of all segments, in order
  std::uint64_t nodes = 0;
  std::uint32_t programs = 0;  // kProgramsVersion of who claims it
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt_id", self.receipt_id);
    archive.field("side", self.side);
    archive.field("party", self.party);
    archive.field("input_root", self.input_root);
    archive.field("output_root", self.output_root);
    archive.field("trace_root", self.trace_root);
    archive.field("nodes", self.nodes);
    archive.field("programs", self.programs);
    archive.field("signature", self.signature);
  }
  bool operator==(const TraceClaim&) const = default;
};
/// H("commensal/trace-claim/v1", encoding).
Digest claim_id(const TraceClaim& claim);

/// "And these are the roots of all that the nodes of one segment put out."
struct SegmentClaim {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kSegmentClaim;

  Digest claim_id{};
  std::uint64_t segment = 0;
  Digest nodes_root{};  // over the trace leaves of its nodes
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("claim_id", self.claim_id);
    archive.field("segment", self.segment);
    archive.field("nodes_root", self.nodes_root);
    archive.field("signature", self.signature);
  }
  bool operator==(const SegmentClaim&) const = default;
};

/// "And these are the values of all operations that made this element."
struct ElementClaim {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kElementClaim;

  Digest claim_id{};
  std::uint64_t node = 0;
  std::uint32_t output = 0;
  std::uint64_t element = 0;
  std::uint64_t steps = 0;
  Digest steps_root{};  // over 1 KiB leaves of the values, 8 bytes each, little-endian
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("claim_id", self.claim_id);
    archive.field("node", self.node);
    archive.field("output", self.output);
    archive.field("element", self.element);
    archive.field("steps", self.steps);
    archive.field("steps_root", self.steps_root);
    archive.field("signature", self.signature);
  }
  bool operator==(const ElementClaim&) const = default;
};

/// Sign as EIP-712 typed data; `party` is filled in:
///   TraceClaim(bytes32 receiptId,uint8 side,address party,bytes32 inputRoot,bytes32 outputRoot,
///   bytes32 traceRoot,uint64 nodes,uint32 programs)
///   SegmentClaim(bytes32 claimId,uint64 segment,bytes32 nodesRoot)
///   ElementClaim(bytes32 claimId,uint64 node,uint32 output,uint64 element,uint64 steps,
///   bytes32 stepsRoot)
TraceClaim sign_claim(const crypto::SecretKey& key, TraceClaim claim);
SegmentClaim sign_claim(const crypto::SecretKey& key, SegmentClaim claim);
ElementClaim sign_claim(const crypto::SecretKey& key, ElementClaim claim);
/// Errors: kUnauthenticated, kInvalidArgument.
core::Result<void> verify_claim(const TraceClaim& claim);
core::Result<void> verify_claim(const SegmentClaim& claim, const crypto::Address& party);
core::Result<void> verify_claim(const ElementClaim& claim, const crypto::Address& party);

}  // namespace commensal::arbiter
