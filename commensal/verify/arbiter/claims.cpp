// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/signer.hpp>
#include <commensal/verify/arbiter/claims.hpp>

namespace commensal::arbiter {
namespace {

crypto::Eip712Domain domain_on(std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return domain;
}

Digest digest_of(const TraceClaim& claim, std::uint64_t chain_id) {
  return crypto::typed_digest(
      domain_on(chain_id),
      crypto::StructHash("TraceClaim(bytes32 receiptId,uint8 side,address party,bytes32 inputRoot,"
                         "bytes32 outputRoot,bytes32 traceRoot,uint64 nodes,uint32 programs)")
          .word(claim.receipt_id)
          .uint(static_cast<std::uint64_t>(claim.side))
          .address(claim.party)
          .word(claim.input_root)
          .word(claim.output_root)
          .word(claim.trace_root)
          .uint(claim.nodes)
          .uint(claim.programs)
          .finish());
}

Digest digest_of(const SegmentClaim& claim, std::uint64_t chain_id) {
  return crypto::typed_digest(
      domain_on(chain_id),
      crypto::StructHash("SegmentClaim(bytes32 claimId,uint64 segment,bytes32 nodesRoot)")
          .word(claim.claim_id)
          .uint(claim.segment)
          .word(claim.nodes_root)
          .finish());
}

Digest digest_of(const ElementClaim& claim, std::uint64_t chain_id) {
  return crypto::typed_digest(
      domain_on(chain_id),
      crypto::StructHash("ElementClaim(bytes32 claimId,uint64 node,uint32 output,uint64 element,"
                         "uint64 steps,bytes32 stepsRoot)")
          .word(claim.claim_id)
          .uint(claim.node)
          .uint(claim.output)
          .uint(claim.element)
          .uint(claim.steps)
          .word(claim.steps_root)
          .finish());
}

template <class Claim>
core::Result<void> verify(const Claim& claim, const crypto::Address& party, std::string_view what) {
  const auto verified =
      protocol::verify_signer([&](std::uint64_t chain) { return digest_of(claim, chain); },
                              claim.signature, party, protocol::kEmbeddedLedger);
  if (!verified) return core::in_context(what, verified.error());
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(Side) {
  static constexpr std::string_view kNames[] = {"provider", "challenger"};
  return kNames;
}

Digest claim_id(const TraceClaim& claim) {
  return crypto::tagged_hash("commensal/trace-claim/v1", protocol::encode(claim));
}

TraceClaim sign_claim(const crypto::SecretKey& key, TraceClaim claim) {
  claim.party = key.address();
  claim.signature = crypto::sign(key, digest_of(claim, protocol::kEmbeddedLedger));
  return claim;
}
SegmentClaim sign_claim(const crypto::SecretKey& key, SegmentClaim claim) {
  claim.signature = crypto::sign(key, digest_of(claim, protocol::kEmbeddedLedger));
  return claim;
}
ElementClaim sign_claim(const crypto::SecretKey& key, ElementClaim claim) {
  claim.signature = crypto::sign(key, digest_of(claim, protocol::kEmbeddedLedger));
  return claim;
}

core::Result<void> verify_claim(const TraceClaim& claim) {
  return verify(claim, claim.party, "trace claim");
}
core::Result<void> verify_claim(const SegmentClaim& claim, const crypto::Address& party) {
  return verify(claim, party, "segment claim");
}
core::Result<void> verify_claim(const ElementClaim& claim, const crypto::Address& party) {
  return verify(claim, party, "element claim");
}

}  // namespace commensal::arbiter
