// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/serve/gateway/record.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>

namespace commensal::gateway {

using core::Result;
using protocol::Reader;
using protocol::Writer;

namespace {

constexpr std::string_view kRollouts = "rollouts";
constexpr int kProbabilityBits = 53;

core::Bytes encode(const RolloutEntry& entry) {
  Writer writer;
  writer.u8(kRecordVersion);
  writer.text(entry.account);
  writer.text(entry.key);
  writer.text(entry.model);
  writer.u32(entry.version);
  writer.field("content", entry.content);
  writer.field("noise_key", entry.noise_key);
  writer.field("provider", entry.provider);
  writer.u64(entry.steps);
  writer.u64(static_cast<std::uint64_t>(std::ldexp(entry.audit_probability, kProbabilityBits)));
  writer.u64(static_cast<std::uint64_t>(entry.created_ms));
  writer.field("state", entry.state);
  writer.text(protocol::one_line(entry.reason));  // a peer may have had its say in it
  return std::move(writer).take();
}

void read_entry(Reader& reader, RolloutEntry& entry) {
  entry.account = reader.text();
  entry.key = reader.text();
  entry.model = reader.text();
  entry.version = reader.u32();
  reader.field("content", entry.content);
  reader.field("noise_key", entry.noise_key);
  reader.field("provider", entry.provider);
  entry.steps = reader.u64();
  entry.audit_probability = std::ldexp(static_cast<double>(reader.u64()), -kProbabilityBits);
  entry.created_ms = static_cast<std::int64_t>(reader.u64());
  reader.field("state", entry.state);
  entry.reason = reader.text();
}

}  // namespace

std::span<const std::string_view> enum_names(RolloutState) {
  static constexpr std::string_view kNames[] = {"running", "finished", "failed", "caught"};
  return kNames;
}

Result<void> RolloutBook::open() {
  Result<void> read;
  COMMENSAL_TRY(store_.scan(kRollouts, {}, [&](core::ByteView key, core::ByteView value) {
    auto entry = decode_record<RolloutEntry>(value, "rollout", read_entry);
    if (!entry || key.size() != entry->id.size()) {
      read = entry
                 ? core::fail(core::ErrorCode::kDataLoss, "a rollout's key of {} bytes", key.size())
                 : tl::unexpected(entry.error());
      return false;
    }
    std::copy(key.begin(), key.end(), entry->id.begin());
    if (!entry->key.empty()) keys_[{entry->account, entry->key}] = entry->id;
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

core::Store::Write RolloutBook::removal(const core::Digest& rollout) {
  return {std::string(kRollouts), {rollout.begin(), rollout.end()}, std::nullopt};
}

void RolloutBook::forget(const core::Digest& rollout) {
  const auto found = entries_.find(rollout);
  if (found == entries_.end()) return;
  keys_.erase({found->second.account, found->second.key});
  entries_.erase(found);
}

Result<void> RolloutBook::put(const RolloutEntry& entry) {
  COMMENSAL_TRY(
      store_.apply({{std::string(kRollouts), {entry.id.begin(), entry.id.end()}, encode(entry)}}));
  if (!entry.key.empty()) keys_[{entry.account, entry.key}] = entry.id;
  entries_.insert_or_assign(entry.id, entry);
  return {};
}

}  // namespace commensal::gateway
