// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/protocol/encoding.hpp>

namespace commensal::protocol {

Digest commit_input(const Digest& root, const Digest& salt) {
  return crypto::tagged_hash("commensal/input/v1", root, salt);
}

Digest commit_step(const Digest& job_id, std::uint64_t step, const Digest& root,
                   const Digest& salt) {
  Writer number;
  number.u64(step);
  return crypto::tagged_hash("commensal/step/v1", job_id, number.written(), root, salt);
}

Digest commit_nonce(const Digest& nonce) {
  return crypto::tagged_hash("commensal/auditors/nonce/v1", nonce);
}

}  // namespace commensal::protocol
