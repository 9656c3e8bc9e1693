// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/oip/admission.hpp>
#include <functional>

namespace commensal::oip {

/// Runs on the loop what `asker` asked for, which says in `act` what became of it. Of an operator
/// the log has a row of that, in the batch of what was done: nothing of it may be told where this
/// fails. Error: the store's.
core::Result<void> with_act(gateway::Gateway& gateway, const Asker& asker, gateway::Act& act,
                            const std::function<void()>& run);

/// The same of what has a result.
template <class T, class Run>
core::Result<T> as_act(gateway::Gateway& gateway, const Asker& asker, gateway::Act act, Run run) {
  core::Result<T> said;
  COMMENSAL_TRY(with_act(gateway, asker, act, [&] {
    said = run();
    act.outcome = said ? "done" : said.error().message;
  }));
  return said;
}

}  // namespace commensal::oip
