// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/economy/testing/provider.hpp>
#include <commensal/lab/economy/testing/rules.hpp>

namespace commensal::economy::testing {

protocol::ChainHead Provider::meet(const protocol::ChainHead& gateway) {
  auto made = beacon::ReverseChain::make(world_.rng.next_digest(), kChainDepth);
  const auto head = protocol::sign_chain_head(key(), {{}, made.anchor(), made.rounds(), {}});
  fresh_.emplace(protocol::beacon_id(gateway, head), std::move(made));
  return head;
}

Result<void> Provider::load() {
  chains_.clear();
  for (const auto& [beacon, fresh] : fresh_) {
    COMMENSAL_ASSIGN(auto chain, kept("chains", beacon, fresh));
    chains_.emplace(beacon, std::move(chain));
  }
  return {};
}

}  // namespace commensal::economy::testing
