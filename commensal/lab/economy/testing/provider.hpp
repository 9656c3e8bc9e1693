// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/economy/testing/party.hpp>
#include <map>

namespace commensal::economy::testing {

/// A provider: its tickets with all its gateways, and a hash chain for each.
/// Thread-safety: one thread.
class Provider final : public Party {
 public:
  using Party::Party;

  /// Before the first act(): a gateway to work for. Returns the head of the chain for it.
  protocol::ChainHead meet(const protocol::ChainHead& gateway);
  /// By the beacon's id.
  beacon::ReverseChain& chain(const Digest& beacon) { return chains_.at(beacon); }
  Result<void> keep_chain(const Digest& beacon) { return keep(chain(beacon), "chains", beacon); }

  bool is_there() const { return world_.round >= back_at_; }
  /// In the last round too: who comes back stays for one at least.
  bool was_there() const { return world_.round > back_at_; }
  void go_away(std::uint64_t rounds) { back_at_ = world_.round + rounds; }

 private:
  Result<void> load() override;

  std::map<Digest, beacon::ReverseChain> fresh_, chains_;
  std::uint64_t back_at_ = 0;
};

}  // namespace commensal::economy::testing
