// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/trade/market/risk/figure.hpp>

/// When honesty pays: each inequality as it stands in its source, and solved for what one can set.
/// All are strict: at equality a cheat loses nothing. A needed probability above 1 means that no
/// audit suffices; the stake is too small.
namespace commensal::risk {

using core::Result;

/// What a cheat loses when an honest auditor catches it.
struct Deterrent {
  double stake = 0;      // S: what is really lost, after all pardons
  double escrowed = 0;   // E: winnings that are held back and then forfeited
  double collusion = 0;  // alpha: probability that the auditor is the cheat's own; below 1
};

/// A step that is not computed, or computed more cheaply (quantised, a smaller model, garbage).
struct LazyCheat {
  double step_cost = 0;   // c
  double cheat_cost = 0;  // c'
  double pay = 0;         // r, for the step
  /// False where only an audited winner is paid: then a cheated step earns nothing unless the
  /// auditor colludes, and no stake is needed to make it a loss.
  bool paid_unaudited = true;

  /// Error: kInvalidArgument, naming the field and its range. Likewise below.
  Result<void> validity() const;
};
/// p (1 - alpha) (S + E + r) > c - c'; where only audited winners are paid:
/// p (1 - alpha) (S + E) + (1 - alpha) r > c - c'.
bool lazy_deterred(const LazyCheat& cheat, const Deterrent& deterrent, double probability);
/// The infimum of the probabilities that deter; infinite where none does.
Figure lazy_probability(const LazyCheat& cheat, const Deterrent& deterrent);

/// One false step into a cheap state from which all later ones are honestly cheap, or an answer
/// that somebody outside pays to have wrong.
struct Malice {
  double steps = 1;          // n, of the rollout
  double step_cost = 0;      // c
  double absorbed_cost = 0;  // c'': of a step in the cheap state
  double bribe = 0;          // v

  Result<void> validity() const;
};
/// p_step (1 - alpha) (S + E) > n (c - c'') + v.
bool malice_deterred(const Malice& malice, const Deterrent& deterrent, double probability);
Figure malice_probability(const Malice& malice, const Deterrent& deterrent);

}  // namespace commensal::risk
