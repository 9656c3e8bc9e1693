// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/governor/plan.hpp>

namespace commensal::governor {

Plan make_plan(const Rules& rules, double budget, double slope, double cycle_s, double part_s,
               core::Rng& rng) {
  const double on_max = cycle_s - std::max(part_s, rules.off_share * cycle_s);
  const auto level_max = [&](double loss) { return std::min(1.0, loss / slope); };
  double level = level_max(rules.on_loss_max);
  double on_s = std::clamp(budget * cycle_s / level, part_s, on_max);
  if (on_s > rules.long_s) {  // may fill a minute: gently
    level = level_max(rules.long_loss_max);
    on_s = std::clamp(budget * cycle_s / level, part_s, on_max);
  }
  level = std::min(level, budget * cycle_s / on_s);
  const double off_s = cycle_s - on_s;
  return {std::max(part_s, off_s * (0.5 + rng.next_unit())), on_s, level};
}

}  // namespace commensal::governor
