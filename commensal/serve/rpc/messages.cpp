// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/rpc/messages.hpp>

namespace commensal::rpc {

core::Digest hello_digest(const core::Digest& nonce, const crypto::Address& address) {
  return crypto::tagged_hash("commensal/hello/v1", nonce, address.bytes);
}

}  // namespace commensal::rpc
