// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/governor/rules.hpp>

namespace commensal::governor {

/// The next cycle: the guest off for `off_s`, then on for `on_s` at `level` of full speed.
///
/// What a guest costs grows with the work that it does, however that is spread over time, while
/// what is learnt of the cost grows with the square of its level. So a budget is spent in short
/// stretches at a high level rather than all the time at a low one; the rest is the reference, for
/// nothing.
struct Plan {
  double off_s = 0;
  double on_s = 0;
  double level = 0;
};

/// What a plan is made of.
struct Aim {
  double budget = 0;   // mean level over the cycle, in [0, 1]
  double slope = 0;    // the loss at full speed, as far as it must be feared
  double cycle_s = 0;  // at least; longer where the shortest stretch would be too much for it
  double part_s = 0;   // no stretch is shorter
  double part_sd = 0;  // of the host's mean over such a stretch, by itself
};

/// The first stretch of all: as fast as can be borne even if the guest took everything. It tells
/// more of the guest's cost than hours at the level that is safe as long as nothing is known.
Plan make_first_plan(const Rules& rules, double part_s);

/// The stretch without the guest has a random length, so that nothing periodic in the host hides
/// behind it.
Plan make_plan(const Rules& rules, const Aim& aim, core::Rng& rng);

}  // namespace commensal::governor
