// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/state.hpp>

namespace commensal::ledger {

Digest state_digest(const State& state) {
  return crypto::tagged_hash("commensal/ledger/state/v1", protocol::encode(state));
}

core::Result<State> decode_state(core::ByteView bytes) {
  protocol::Reader reader(bytes, protocol::name_of(State::kKind));
  State state;
  protocol::read(reader, state);
  COMMENSAL_TRY(reader.finish());
  return state;
}

}  // namespace commensal::ledger
