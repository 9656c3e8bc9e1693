// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/retention.hpp>

namespace commensal::rollout {

using core::Result;

void KeptBytes::note(const core::Digest& rollout, const std::string& owner, std::uint64_t bytes) {
  forget(rollout);
  kept_.emplace(rollout, Kept{owner, bytes});
  owned_[owner] += bytes;
  all_ += bytes;
}

void KeptBytes::forget(const core::Digest& rollout) {
  const auto found = kept_.find(rollout);
  if (found == kept_.end()) return;
  const auto [owner, bytes] = found->second;
  all_ -= bytes;
  if ((owned_[owner] -= bytes) == 0) owned_.erase(owner);
  kept_.erase(found);
}

std::uint64_t KeptBytes::of(const std::string& owner) const {
  const auto found = owned_.find(owner);
  return found == owned_.end() ? 0 : found->second;
}

Result<void> make_room(core::Store& store, std::size_t more, const Retention& retention) {
  COMMENSAL_ASSIGN(const auto rollouts, rollouts_by_age(store));
  std::size_t kept = rollouts.size();
  std::uint64_t freed = 0;
  const auto is_enough = [&] {
    return kept + more <= retention.kept_max && freed >= retention.bytes_less;
  };
  for (const core::Digest& rollout : rollouts) {
    if (is_enough()) return {};
    if (!retention.may_go(rollout)) continue;
    JobRows rows(store, rollout);
    COMMENSAL_ASSIGN(const JobRows::Bytes bytes, rows.bytes());
    core::Store::Batch rest;
    if (retention.forget) {
      COMMENSAL_ASSIGN(rest, retention.forget(rollout));
    }
    COMMENSAL_TRY(rows.erase(std::move(rest)));
    --kept;
    freed += bytes.all;
    if (retention.gone) retention.gone(rollout);
  }
  if (is_enough()) return {};
  if (kept + more <= retention.kept_max) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "{} bytes of rollouts have to go, and {} of those that are over may",
                      retention.bytes_less, freed);
  }
  return core::fail(core::ErrorCode::kResourceExhausted,
                    "{} rollouts are kept, at most {}, and none of them is over", kept,
                    retention.kept_max);
}

}  // namespace commensal::rollout
