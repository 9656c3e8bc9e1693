// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/oip/acts.hpp>

namespace commensal::oip {

core::Result<void> with_act(gateway::Gateway& gateway, const Asker& asker, gateway::Act& act,
                            const std::function<void()>& run) {
  act.account = asker.account.name;
  act.token = asker.token.label;
  if (asker.account.role == gateway::Role::kOperator) return gateway.with_act(act, run);
  run();
  return {};
}

}  // namespace commensal::oip
