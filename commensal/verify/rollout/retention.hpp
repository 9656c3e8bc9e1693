// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/rollout/record.hpp>
#include <functional>
#include <vector>

namespace commensal::rollout {

/// What a party keeps of rollouts that are over.
struct Retention {
  std::size_t kept_max = 0;
  /// Whether nobody needs it any more.
  std::function<bool(const core::Digest&)> may_go;
  /// Drops what else is kept of it; what it returns goes in one batch with the rollout's own end.
  /// Where it is absent there is nothing.
  std::function<core::Result<core::Store::Batch>(const core::Digest&)> forget;
};

/// Makes room for `more` rollouts in the store: the oldest go that may. Returns them. Each goes in
/// portions, its record last: one that a crash cut short is the oldest still, and goes next time.
/// Errors: kResourceExhausted (all are needed), the store's, forget's.
core::Result<std::vector<core::Digest>> make_room(core::Store& store, std::size_t more,
                                                  const Retention& retention);

}  // namespace commensal::rollout
