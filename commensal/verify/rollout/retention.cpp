// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/retention.hpp>

namespace commensal::rollout {

using core::Result;

Result<std::vector<core::Digest>> make_room(core::Store& store, std::size_t more,
                                            const Retention& retention) {
  COMMENSAL_ASSIGN(const auto kept, rollouts_by_age(store));
  std::vector<core::Digest> gone;
  for (const core::Digest& rollout : kept) {
    if (kept.size() - gone.size() + more <= retention.kept_max) return gone;
    if (!retention.may_go(rollout)) continue;
    core::Store::Batch rest;
    if (retention.forget) {
      COMMENSAL_ASSIGN(rest, retention.forget(rollout));
    }
    COMMENSAL_TRY(JobRows(store, rollout).erase(std::move(rest)));
    gone.push_back(rollout);
  }
  if (kept.size() - gone.size() + more <= retention.kept_max) return gone;
  return core::fail(core::ErrorCode::kResourceExhausted,
                    "{} rollouts are kept, at most {}, and none of them is over", kept.size(),
                    retention.kept_max);
}

}  // namespace commensal::rollout
