// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/governor/plan.hpp>

namespace commensal::governor {

Plan make_plan(const Rules& rules, const Aim& aim, core::Rng& rng) {
  const auto level_max = [&](double loss) { return std::min(1.0, loss / aim.slope); };
  const double hidden = std::min(rules.noisy_loss_max, rules.noise_hides * aim.part_sd);
  double level = level_max(std::max(rules.on_loss_max, hidden));
  // A noisy host shows what a guest costs it only where the guest runs fast: rarely, then.
  const double rare_s = std::min(rules.cycle_rare, aim.part_s * level / aim.budget);
  const double cycle_s = std::max(aim.cycle_s, rare_s);
  const double work_s = aim.budget * cycle_s;
  const double on_max = cycle_s - std::max(aim.part_s, rules.off_share * cycle_s);
  double on_s = std::clamp(work_s / level, aim.part_s, on_max);
  if (on_s > rules.long_s) {  // may fill a minute: gently
    level = level_max(rules.long_loss_max);
    on_s = std::clamp(work_s / level, aim.part_s, on_max);
  }
  level = std::min(level, work_s / on_s);
  const double off_s = cycle_s - on_s;
  return {std::max(aim.part_s, off_s * (0.5 + rng.next_unit())), on_s, level};
}

Plan make_first_plan(const Rules& rules, double part_s) {
  const double level = std::min(1.0, rules.first_look * rules.window_min / part_s);
  return {std::max(part_s, rules.beside), part_s, level};
}

}  // namespace commensal::governor
