// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/beacon/tracker.hpp>
#include <optional>

namespace commensal::beacon {

/// Rounds 1, 2, ... of a value that nobody can choose, nor know while tickets of the round are
/// made: the beacon of a gateway and one of its providers, as either (or a ledger) follows it.
/// A round goes through: open, closed by the gateway's reveal, drawn by the provider's.
///  - The gateway reveals first, when it cannot know what the provider holds: it has nothing to
///    choose by. From then on nobody may make tickets of that round or of earlier ones.
///  - The provider reveals second and knows the outcome before; who withholds then is treated as
///    one who does not open a winner.
/// A gateway's chain may serve all its providers, as long as it countersigns no ticket of a round
/// that it has revealed to anyone. A provider needs a chain for each gateway.
/// Thread-safety: one thread.
class TwoPartyBeacon {
 public:
  TwoPartyBeacon(HashChainTracker gateway, HashChainTracker provider);

  /// What Job::beacons names.
  const core::Digest& id() const { return id_; }
  /// The first round that tickets may still be made for.
  std::uint64_t open_round() const { return gateway_.round() + 1; }
  /// Nothing while the round is not drawn. Errors: HashChainTracker::value_of; kInvalidArgument
  /// (0).
  core::Result<std::optional<core::Digest>> value(std::uint64_t round) const;

  /// Closes `round` and all before. Errors: HashChainTracker::accept.
  core::Result<void> on_gateway_reveal(std::uint64_t round, const core::Digest& value);
  /// Draws `round` and all before. Errors: as above; kFailedPrecondition where the gateway has not
  /// revealed that round.
  core::Result<void> on_provider_reveal(std::uint64_t round, const core::Digest& value);

  /// The last round closed, and the last drawn (both 0 at first).
  std::uint64_t closed_round() const { return gateway_.round(); }
  std::uint64_t drawn_round() const { return provider_.round(); }
  const HashChainTracker& gateway() const { return gateway_; }
  const HashChainTracker& provider() const { return provider_; }

 private:
  HashChainTracker gateway_;
  HashChainTracker provider_;
  core::Digest id_;
};

}  // namespace commensal::beacon
