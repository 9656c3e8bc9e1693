// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/encoding.hpp>
#include <commensal/base/protocol/signer.hpp>

namespace commensal::protocol {

/// The end of a reverse hash chain, as its owner registers it (trade/pay/beacon): the anchor stands
/// for round `first`, and what its owner reveals of round R leads to it by R - first hashes. A
/// chain that has been in use for long gets a new head by what it has revealed, so that nobody who
/// comes late has to follow it from its beginning. Signed (EIP-712: HashChainHead(address
/// owner,bytes32 anchor,uint64 first,uint64 rounds)).
struct HashChainHead {
  static constexpr NounKind kKind = NounKind::kHashChainHead;

  crypto::Address owner;
  Digest anchor{};
  std::uint64_t rounds = 1;  // the last round that it has a value for
  crypto::Signature signature;
  std::uint64_t first = 0;  // before rounds, by 2^kHashChainDepthMax at most

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("owner", self.owner);
    archive.field("anchor", self.anchor);
    archive.field("first", self.first);
    archive.field("rounds", self.rounds);
    archive.field("signature", self.signature);
  }
  /// Error: kInvalidArgument for rounds out of range.
  core::Result<void> validity() const;
  bool operator==(const HashChainHead&) const = default;
};

/// Fills in owner and signature. Precondition: the rest is valid.
HashChainHead sign_hash_chain_head(const crypto::SecretKey& key, HashChainHead head,
                                   std::uint64_t chain_id = kEmbeddedLedger);
/// Errors: kUnauthenticated, kInvalidArgument.
core::Result<void> verify_hash_chain_head(const HashChainHead& head,
                                          std::uint64_t chain_id = kEmbeddedLedger);

/// What Job::beacons names: H("commensal/beacon-id/v1", gateway's owner | anchor | first | rounds,
/// as u64 | the provider's likewise).
Digest beacon_id(const HashChainHead& gateway, const HashChainHead& provider);

/// H("commensal/beacon/v1", round as u64 | gateway's reveal | provider's reveal): neither side can
/// choose it, as both had to fix their reveals before, nor know it while the other's is hidden.
Digest beacon_value(std::uint64_t round, const Digest& gateway_reveal,
                    const Digest& provider_reveal);

}  // namespace commensal::protocol
