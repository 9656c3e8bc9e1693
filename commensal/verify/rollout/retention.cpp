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

namespace {

Result<void> drop(core::Store& store, const core::Digest& rollout, const Retention& retention) {
  core::Store::Batch rest;
  if (retention.forget) {
    COMMENSAL_ASSIGN(rest, retention.forget(rollout));
  }
  COMMENSAL_TRY(JobRows(store, rollout).erase(std::move(rest)));
  if (retention.gone) retention.gone(rollout);
  return {};
}

}  // namespace

Result<void> make_room(core::Store& store, std::size_t more, const Retention& retention) {
  COMMENSAL_ASSIGN(const auto rollouts, rollouts_by_age(store));
  std::vector<core::Digest> going;
  std::size_t kept = rollouts.size();
  std::uint64_t freed = 0;
  const auto is_enough = [&] {
    return kept + more <= retention.kept_max && freed >= retention.bytes_less;
  };
  for (const core::Digest& rollout : rollouts) {
    if (is_enough()) break;
    if (!retention.may_go(rollout)) continue;
    COMMENSAL_ASSIGN(const JobRows::Bytes bytes, JobRows(store, rollout).bytes());
    going.push_back(rollout);
    --kept;
    freed += bytes.all;
  }
  if (is_enough()) {
    for (const core::Digest& rollout : going) COMMENSAL_TRY(drop(store, rollout, retention));
    return {};
  }
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
