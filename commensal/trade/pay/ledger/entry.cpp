// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/entry.hpp>

namespace commensal::ledger {

Digest entry_hash(core::ByteView encoded) {
  return crypto::tagged_hash("commensal/ledger/entry/v1", encoded);
}

}  // namespace commensal::ledger
