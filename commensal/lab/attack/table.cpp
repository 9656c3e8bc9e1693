// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/attack/families.hpp>
#include <vector>

namespace commensal::attack {

std::span<const Attack> attack_table() {
  static const std::vector<Attack> kAll = [] {
    std::vector<Attack> all;
    for (const auto family :
         {answer_attacks(), rollout_attacks(), ticket_attacks(), draw_attacks(), money_attacks(),
          drain_attacks(), auditor_attacks(), framing_attacks(), trust_attacks()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return kAll;
}

}  // namespace commensal::attack
