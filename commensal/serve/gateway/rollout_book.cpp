// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/rollout_book.hpp>

namespace commensal::gateway {

using core::Result;

namespace {

constexpr std::string_view kRollouts = "rollouts";

}  // namespace

std::span<const std::string_view> enum_names(RolloutState) {
  static constexpr std::string_view kNames[] = {"running", "finished", "failed", "caught",
                                                "cancelled"};
  return kNames;
}

Result<void> RolloutBook::open() {
  Result<void> read;
  COMMENSAL_TRY(store_.scan(kRollouts, {}, [&](core::ByteView key, core::ByteView value) {
    auto entry = protocol::decode_stored<RolloutEntry>(value);
    if (!entry || key.size() != entry->id.size()) {
      read = entry
                 ? core::fail(core::ErrorCode::kDataLoss, "a rollout's key of {} bytes", key.size())
                 : tl::unexpected(entry.error());
      return false;
    }
    std::copy(key.begin(), key.end(), entry->id.begin());
    if (!entry->key.empty()) keys_[{entry->account, entry->key}] = entry->id;
    of_job_[entry->job] = entry->id;
    entries_.emplace(entry->id, *std::move(entry));
    return true;
  }));
  return read;
}

const RolloutEntry* RolloutBook::find(const core::Digest& rollout) const {
  const auto found = entries_.find(rollout);
  return found == entries_.end() ? nullptr : &found->second;
}

const RolloutEntry* RolloutBook::find(const std::string& account, const std::string& key) const {
  const auto found = keys_.find({account, key});
  return found == keys_.end() ? nullptr : find(found->second);
}

const RolloutEntry* RolloutBook::of_job(const core::Digest& job) const {
  const auto found = of_job_.find(job);
  return found == of_job_.end() ? nullptr : find(found->second);
}

core::Store::Write RolloutBook::removal(const core::Digest& rollout) {
  return {std::string(kRollouts), {rollout.begin(), rollout.end()}, std::nullopt};
}

void RolloutBook::forget(const core::Digest& rollout) {
  const auto found = entries_.find(rollout);
  if (found == entries_.end()) return;
  keys_.erase({found->second.account, found->second.key});
  of_job_.erase(found->second.job);
  entries_.erase(found);
}

Result<void> RolloutBook::put(const RolloutEntry& entry) {
  RolloutEntry kept = entry;
  kept.reason = protocol::one_line(entry.reason);  // a peer may have had its say in it
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(kept));
  COMMENSAL_TRY(
      store_.apply({{std::string(kRollouts), {entry.id.begin(), entry.id.end()}, std::move(row)}}));
  if (!entry.key.empty()) keys_[{entry.account, entry.key}] = entry.id;
  if (const RolloutEntry* const before = find(entry.id)) of_job_.erase(before->job);
  of_job_[entry.job] = entry.id;
  entries_.insert_or_assign(entry.id, entry);
  return {};
}

}  // namespace commensal::gateway
