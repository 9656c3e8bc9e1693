// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/state.hpp>

namespace commensal::ledger {

Digest state_digest(const State& state) {
  return crypto::tagged_hash("commensal/ledger/state/v1", protocol::encode(state));
}

}  // namespace commensal::ledger
