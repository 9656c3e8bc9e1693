// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/signer.hpp>

namespace commensal::protocol {
namespace {

using core::ErrorCode;

/// Chains that a signature may have been meant for: ours, Ethereum, its test network Sepolia, and
/// what local development nodes call themselves.
constexpr std::uint64_t kLikelyChains[] = {kEmbeddedLedger, 1, 11155111, 31337};

}  // namespace

core::Result<void> verify_signer(
    const std::function<core::Digest(std::uint64_t chain_id)>& digest_on,
    const crypto::Signature& signature, const crypto::Address& signer, std::uint64_t chain_id) {
  COMMENSAL_ASSIGN(const crypto::Address found, crypto::recover(digest_on(chain_id), signature));
  if (found == signer) return {};
  for (const std::uint64_t chain : kLikelyChains) {
    if (crypto::recover(digest_on(chain), signature) != signer) continue;
    return core::fail(ErrorCode::kUnauthenticated,
                      "wrong chain: it was signed for chain {}, expected chain {}", chain,
                      chain_id);
  }
  return core::fail(ErrorCode::kUnauthenticated, "recovers to {}, expected {}",
                    crypto::to_text(found), crypto::to_text(signer));
}

}  // namespace commensal::protocol
