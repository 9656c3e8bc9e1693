// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/provider/known_gateways.hpp>

namespace commensal::provider {
namespace {

constexpr std::string_view kSpace = "gateways";

}  // namespace

core::Result<void> KnownGateways::meet(const rpc::Challenge& challenge,
                                       const rpc::Channel& channel) {
  const crypto::Address& found = challenge.gateway;
  const auto signer =
      crypto::recover(rpc::challenge_digest(challenge.nonce, found, channel), challenge.signature);
  if (!signer || *signer != found) {
    return core::fail(core::ErrorCode::kUnauthenticated,
                      "who answers there has not the key of {}, or passes it on for another",
                      crypto::to_text(found));
  }
  const core::ByteView key = core::as_bytes(dialled_);
  COMMENSAL_ASSIGN(const auto kept, store_.get(kSpace, key));
  const bool is_kept = kept && std::ranges::equal(*kept, found.bytes);
  crypto::Address wanted = expected_.value_or(found);
  if (!expected_ && kept && kept->size() == wanted.bytes.size()) {
    std::ranges::copy(*kept, wanted.bytes.begin());
  }
  if (wanted != found) {
    return core::fail(core::ErrorCode::kUnauthenticated,
                      "the gateway has the key {}, expected {}: --gateway-key if that is right",
                      crypto::to_text(found), crypto::to_text(wanted));
  }
  if (is_kept) return {};
  if (!expected_) trusted_anew_ = found;
  return store_.apply({{std::string(kSpace), core::Bytes(key.begin(), key.end()),
                        core::Bytes(found.bytes.begin(), found.bytes.end())}});
}

}  // namespace commensal::provider
