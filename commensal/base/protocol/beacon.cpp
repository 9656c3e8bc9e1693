// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/beacon.hpp>

namespace commensal::protocol {
namespace {

constexpr std::uint64_t kRoundsMax = std::uint64_t{1} << limits::kHashChainDepthMax;

Digest digest_of(const HashChainHead& head, std::uint64_t chain_id) {
  crypto::Eip712Domain domain;
  domain.chain_id = chain_id;
  return crypto::typed_digest(
      domain,
      crypto::StructHash("HashChainHead(address owner,bytes32 anchor,uint64 first,uint64 rounds)")
          .address(head.owner)
          .word(head.anchor)
          .uint(head.first)
          .uint(head.rounds)
          .finish());
}

void write_identity(Writer& writer, const HashChainHead& head) {
  write(writer, head.owner);
  write(writer, head.anchor);
  write(writer, head.first);
  write(writer, head.rounds);
}

}  // namespace

core::Result<void> HashChainHead::validity() const {
  if (first < rounds && rounds - first <= kRoundsMax) return {};
  return core::fail(core::ErrorCode::kInvalidArgument, "{} rounds, expected 1 to {}",
                    rounds - std::min(first, rounds), kRoundsMax);
}

HashChainHead sign_hash_chain_head(const crypto::SecretKey& key, HashChainHead head,
                                   std::uint64_t chain_id) {
  core::check(head.validity().has_value(), "a hash chain whose length is out of range");
  head.owner = key.address();
  head.signature = crypto::sign(key, digest_of(head, chain_id));
  return head;
}

core::Result<void> verify_hash_chain_head(const HashChainHead& head, std::uint64_t chain_id) {
  if (const auto valid = head.validity(); !valid) {
    return core::in_context("hash chain head", valid.error());
  }
  const auto by_owner = verify_signer([&](std::uint64_t chain) { return digest_of(head, chain); },
                                      head.signature, head.owner, chain_id);
  if (!by_owner) return core::in_context("hash chain head", by_owner.error());
  return {};
}

Digest beacon_id(const HashChainHead& gateway, const HashChainHead& provider) {
  Writer writer;
  write_identity(writer, gateway);
  write_identity(writer, provider);
  return crypto::tagged_hash("commensal/beacon-id/v1", writer.written());
}

Digest beacon_value(std::uint64_t round, const Digest& gateway_reveal,
                    const Digest& provider_reveal) {
  Writer writer;
  writer.u64(round);
  return crypto::tagged_hash("commensal/beacon/v1", writer.written(), gateway_reveal,
                             provider_reveal);
}

}  // namespace commensal::protocol
