// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/dispute/player.hpp>
#include <commensal/verify/rollout/client.hpp>
#include <commensal/verify/rollout/provider.hpp>

namespace commensal::serial {

/// A step on which provider and auditor differ: what the arbiter is told, and both sides.
struct Quarrel {
  const protocol::Receipt& receipt;  // of the step
  const receipt::Opening& shown;
  /// Each runs the step again as its side did.
  rollout::Engine& by_provider;
  noise::NoisySession& by_auditor;
  const crypto::SecretKey& provider;
  const crypto::SecretKey& auditor;
};

/// What became of the dispute.
struct Ruling {
  arbiter::Outcome outcome;
  core::Bytes file;  // kProved: for `commensal arbiter check`
};

/// Plays the dispute move by move. What both sides ran on is the step's state with its noise, which
/// anybody has from the step's task (receipt::input_root_of).
/// Where no dispute is possible (noise inside the graph, a model without a trace) it is undecided.
/// Errors: those of the runs.
core::Result<Ruling> adjudicate(const Quarrel& quarrel);

}  // namespace commensal::serial
