// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/oip/management.hpp>
#include <utility>

namespace commensal::oip {

/// Answers what `say` returns on the loop, in the asker's line.
template <class Say>
void on_loop(const Services& services, const std::shared_ptr<Asker>& asker, Answer answer,
             Say say) {
  services.turns->post(
      asker->line, [asker, answer = std::move(answer), say = std::move(say)] { answer(say()); });
}

}  // namespace commensal::oip
