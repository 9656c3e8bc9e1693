// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/retention.hpp>
#include <deque>

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

std::string_view KeptBytes::owner_of(const core::Digest& rollout) const {
  const auto found = kept_.find(rollout);
  return found == kept_.end() ? std::string_view() : std::string_view(found->second.owner);
}

namespace {

/// What one owner has.
struct Holding {
  std::uint64_t size = 0;        // rollouts, or their bytes
  std::deque<std::size_t> ages;  // of its rollouts, the oldest first
};

/// Of all, in which the oldest of the largest is next.
std::vector<Holding> holdings(const std::vector<core::Digest>& by_age, const KeptBytes* owners,
                              bool by_count) {
  std::map<std::string_view, Holding> found;
  for (std::size_t age = 0; age < by_age.size(); ++age) {
    const auto owner = owners == nullptr ? std::string_view() : owners->owner_of(by_age[age]);
    found[owner].ages.push_back(age);
  }
  std::vector<Holding> all;
  for (auto& [owner, one] : found) {
    const bool is_known = !by_count && owners != nullptr;
    one.size = is_known ? owners->of(std::string(owner)) : one.ages.size();
    all.push_back(std::move(one));
  }
  return all;
}

bool is_smaller(const Holding& a, const Holding& b) {
  return a.size != b.size ? a.size < b.size : a.ages.front() > b.ages.front();
}

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
  if (is_enough()) return {};
  const bool by_count = kept + more > retention.kept_max;
  std::vector<Holding> left = holdings(rollouts, retention.owners, by_count);
  while (!left.empty() && !is_enough()) {
    const auto largest = std::ranges::max_element(left, is_smaller);
    const core::Digest& rollout = rollouts[largest->ages.front()];
    largest->ages.pop_front();
    if (retention.may_go(rollout)) {
      COMMENSAL_ASSIGN(const JobRows::Bytes bytes, JobRows(store, rollout).bytes());
      going.push_back(rollout);
      --kept;
      freed += bytes.all;
      largest->size -= std::min(largest->size, by_count ? 1 : bytes.all);
    }
    if (largest->ages.empty()) left.erase(largest);
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
