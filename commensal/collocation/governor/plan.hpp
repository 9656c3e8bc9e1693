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

/// `budget`: mean level over the cycle, in [0, 1]. `slope`: the loss at full speed, as far as it
/// must be feared. No stretch is shorter than `part_s`; that without the guest has a random length,
/// so that nothing periodic in the host hides behind it.
Plan make_plan(const Rules& rules, double budget, double slope, double cycle_s, double part_s,
               core::Rng& rng);

}  // namespace commensal::governor
