// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/chain/client.hpp>
#include <commensal/verify/chain/provider.hpp>
#include <commensal/verify/dispute/player.hpp>

namespace commensal::serial {

/// A link on which provider and auditor differ: what the arbiter is told, and both sides.
struct Quarrel {
  const protocol::Receipt& receipt;  // of the link
  const chain::ChainClient::Audit& shown;
  /// Each runs the link again as its side did.
  chain::Engine& by_provider;
  noise::NoisySession& by_auditor;
  const crypto::SecretKey& provider;
  const crypto::SecretKey& auditor;
};

/// What became of the dispute.
struct Ruling {
  arbiter::Outcome outcome;
  core::Bytes file;  // kProved: for `commensal arbiter check`
};

/// Plays the dispute move by move. What both sides ran on is the link's state with its noise, which
/// anybody has from the link's task (chain::input_root_of).
/// Where no dispute is possible (noise inside the graph, a model without a trace) it is undecided.
/// Errors: those of the runs.
core::Result<Ruling> adjudicate(const Quarrel& quarrel);

}  // namespace commensal::serial
