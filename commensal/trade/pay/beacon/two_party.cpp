// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/beacon/two_party.hpp>

namespace commensal::beacon {

TwoPartyBeacon::TwoPartyBeacon(HashChainTracker gateway, HashChainTracker provider)
    : gateway_(std::move(gateway)),
      provider_(std::move(provider)),
      id_(protocol::beacon_id(gateway_.head(), provider_.head())) {}

core::Result<std::optional<core::Digest>> TwoPartyBeacon::value(std::uint64_t round) const {
  if (round == 0) {
    return core::fail(core::ErrorCode::kInvalidArgument, "round 0, expected 1 or more");
  }
  if (round > drawn_round()) return std::nullopt;
  COMMENSAL_ASSIGN(const core::Digest gateway, gateway_.value_of(round));
  COMMENSAL_ASSIGN(const core::Digest provider, provider_.value_of(round));
  return protocol::beacon_value(round, gateway, provider);
}

core::Result<void> TwoPartyBeacon::on_gateway_reveal(std::uint64_t round,
                                                     const core::Digest& value) {
  return gateway_.accept(round, value);
}

core::Result<void> TwoPartyBeacon::on_provider_reveal(std::uint64_t round,
                                                      const core::Digest& value) {
  if (round > closed_round()) {
    return core::fail(core::ErrorCode::kFailedPrecondition,
                      "early: the provider reveals round {}, the gateway has revealed up to {}",
                      round, closed_round());
  }
  return provider_.accept(round, value);
}

}  // namespace commensal::beacon
