// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/base/core/limits_chains.hpp>
#include <commensal/serve/gateway/chain_book.hpp>
#include <commensal/serve/gateway/record.hpp>

namespace commensal::gateway {

using core::Result;
using protocol::Reader;
using protocol::Writer;

namespace {

constexpr std::string_view kChains = "chains", kAudits = "chain.audits";
constexpr int kProbabilityBits = 53;

core::Bytes encode(const ChainEntry& entry) {
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
  writer.text(entry.reason);
  return std::move(writer).take();
}

void read_entry(Reader& reader, ChainEntry& entry) {
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

core::Bytes key_of(const core::Digest& chain, std::uint64_t step) {
  Writer key;
  key.raw(chain);
  key.u64(step);
  return std::move(key).take();
}

core::Bytes encode(const LinkAudit& audit) {
  Writer writer;
  writer.u8(kRecordVersion);
  writer.u64(audit.step);
  writer.u8(audit.verdict ? 1 : 0);
  if (audit.verdict) writer.field("verdict", *audit.verdict);
  return std::move(writer).take();
}

Result<LinkAudit> read_audit(core::ByteView value) {
  return decode_record<LinkAudit>(value, "audit of a link", [](Reader& reader, LinkAudit& audit) {
    audit.step = reader.u64();
    if (reader.u8() == 1) reader.field("verdict", audit.verdict.emplace());
  });
}

}  // namespace

std::span<const std::string_view> enum_names(ChainState) {
  static constexpr std::string_view kNames[] = {"running", "finished", "failed", "caught"};
  return kNames;
}

Result<void> ChainBook::open() {
  Result<void> read;
  COMMENSAL_TRY(store_.scan(kChains, {}, [&](core::ByteView key, core::ByteView value) {
    auto entry = decode_record<ChainEntry>(value, "chain", read_entry);
    if (!entry || key.size() != entry->id.size()) {
      read = entry ? core::fail(core::ErrorCode::kDataLoss, "a chain's key of {} bytes", key.size())
                   : tl::unexpected(entry.error());
      return false;
    }
    std::copy(key.begin(), key.end(), entry->id.begin());
    if (!entry->key.empty()) keys_[{entry->account, entry->key}] = entry->id;
    entries_.emplace(entry->id, *std::move(entry));
    return true;
  }));
  COMMENSAL_TRY(read);
  return open_audits();
}

const ChainEntry* ChainBook::find(const core::Digest& chain) const {
  const auto found = entries_.find(chain);
  return found == entries_.end() ? nullptr : &found->second;
}

const ChainEntry* ChainBook::find(const std::string& account, const std::string& key) const {
  const auto found = keys_.find({account, key});
  return found == keys_.end() ? nullptr : find(found->second);
}

Result<void> ChainBook::put(const ChainEntry& entry) {
  COMMENSAL_TRY(
      store_.apply({{std::string(kChains), {entry.id.begin(), entry.id.end()}, encode(entry)}}));
  if (!entry.key.empty()) keys_[{entry.account, entry.key}] = entry.id;
  entries_.insert_or_assign(entry.id, entry);
  return {};
}

Result<void> ChainBook::put(const core::Digest& chain, const LinkAudit& audit) {
  COMMENSAL_TRY(store_.apply({{std::string(kAudits), key_of(chain, audit.step), encode(audit)}}));
  count(chain, audit);
  return {};
}

Result<void> ChainBook::open_audits() {
  Result<void> read;
  COMMENSAL_TRY(store_.scan(kAudits, {}, [&](core::ByteView key, core::ByteView value) {
    const auto audit = read_audit(value);
    core::Digest chain;
    if (!audit || key.size() <= chain.size()) {
      read = audit
                 ? core::fail(core::ErrorCode::kDataLoss, "an audit's key of {} bytes", key.size())
                 : tl::unexpected(audit.error());
      return false;
    }
    std::copy_n(key.begin(), chain.size(), chain.begin());
    count(chain, *audit);
    return true;
  }));
  return read;
}

void ChainBook::count(const core::Digest& chain, const LinkAudit& audit) {
  LinkAudits& counts = audits_[chain];
  if (!audit.verdict) {
    counts.open.insert(audit.step);
    return;
  }
  counts.open.erase(audit.step);
  if (audit.verdict->outcome == protocol::Outcome::kMatch) {
    ++counts.matched;
  } else {
    counts.mismatches.insert(audit.step);
  }
}

const LinkAudits& ChainBook::audits(const core::Digest& chain) const {
  static const LinkAudits kNone;
  const auto found = audits_.find(chain);
  return found == audits_.end() ? kNone : found->second;
}

Result<std::optional<LinkAudit>> ChainBook::audit(const core::Digest& chain,
                                                  std::uint64_t step) const {
  COMMENSAL_ASSIGN(const auto row, store_.get(kAudits, key_of(chain, step)));
  if (!row) return std::nullopt;
  COMMENSAL_ASSIGN(LinkAudit audit, read_audit(*row));
  return audit;
}

}  // namespace commensal::gateway
