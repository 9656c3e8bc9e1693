// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <cstdint>
#include <functional>

namespace commensal::protocol {

/// Chain id of signatures that count in a gateway's own ledger rather than on an EVM chain.
inline constexpr std::uint64_t kEmbeddedLedger = 0;

/// That `signer` signed the digest which `digest_on` gives for `chain_id`. `digest_on` is called
/// again, for some well-known chains, only to say what is wrong.
/// Errors: kInvalidArgument for a malformed signature (malleable ones included), kUnauthenticated
/// for another chain or another signer.
core::Result<void> verify_signer(
    const std::function<core::Digest(std::uint64_t chain_id)>& digest_on,
    const crypto::Signature& signature, const crypto::Address& signer, std::uint64_t chain_id);

}  // namespace commensal::protocol
