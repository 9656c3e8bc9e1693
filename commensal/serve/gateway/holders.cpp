// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/serve/gateway/holders.hpp>
#include <tuple>

namespace commensal::gateway {

using core::Result;

namespace {

constexpr std::string_view kHolderSpace = "model_holders";  // provider and content -> Holder

core::Bytes holder_key(const Holders::Key& key) {
  core::Bytes bytes(key.provider.bytes.begin(), key.provider.bytes.end());
  bytes.insert(bytes.end(), key.content.begin(), key.content.end());
  return bytes;
}

Holders::Key key_of_holder(core::ByteView bytes) {
  Holders::Key key;
  const std::size_t address = key.provider.bytes.size();
  if (bytes.size() != address + key.content.size()) return key;
  std::copy_n(bytes.begin(), address, key.provider.bytes.begin());
  std::copy_n(bytes.begin() + address, key.content.size(), key.content.begin());
  return key;
}

/// "": nobody knows.
std::string owner_of(const Holder& holder) {
  return holder.model.substr(0, holder.model.find('/'));
}

}  // namespace

Result<void> Holders::open() {
  return hub_rows::each_record<Holder>(store_, kHolderSpace, {},
                                       [&](core::ByteView key, Holder holder) {
                                         const std::int64_t used_ms = holder.used_ms;
                                         keep(key_of_holder(key), Row{std::move(holder), used_ms});
                                         return true;
                                       });
}

const Holders::Row* Holders::find(const Key& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

Result<void> Holders::put(const Key& key, Row row) {
  COMMENSAL_ASSIGN(core::Bytes value, protocol::encode_stored(row.holder));
  COMMENSAL_TRY(store_.apply({{std::string(kHolderSpace), holder_key(key), std::move(value)}}));
  row.written_ms = row.holder.used_ms;
  keep(key, std::move(row));
  return {};
}

/// The model that it was given as stays the same.
void Holders::keep(const Key& key, Row row) {
  const auto [kept, is_new] = rows_.insert_or_assign(key, std::move(row));
  if (!is_new) return;
  by_content_[key.content].insert(key.provider);
  by_owner_[owner_of(kept->second.holder)].insert(key);
}

void Holders::forget(const Key& key) {
  const auto row = rows_.extract(key);
  if (row.empty()) return;
  const auto take = [](auto& index, const auto& name, const auto& one) {
    const auto found = index.find(name);
    found->second.erase(one);
    if (found->second.empty()) index.erase(found);
  };
  take(by_content_, key.content, key.provider);
  take(by_owner_, owner_of(row.mapped().holder), key);
}

const std::set<crypto::Address>* Holders::who_has(const core::Digest& content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? nullptr : &found->second;
}

void Holders::visit(const std::string& owner, const Key& after, const See& see) const {
  if (owner.empty()) {
    for (auto row = rows_.upper_bound(after); row != rows_.end(); ++row) {
      if (!see(row->first, row->second.holder)) return;
    }
    return;
  }
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return;
  for (auto key = found->second.upper_bound(after); key != found->second.end(); ++key) {
    if (!see(*key, rows_.at(*key).holder)) return;
  }
}

Result<void> Holders::note(const Key& key) {
  const std::int64_t now_ms = clock_.wall_ms();
  const auto found = rows_.find(key);
  if (found != rows_.end()) {
    found->second.holder.used_ms = now_ms;
    const bool is_asked = found->second.holder.asked_ms != 0;
    if (!is_asked && now_ms - found->second.written_ms < limits::kHolderUsedMs) return {};
    Row row = found->second;
    row.holder.asked_ms = 0;
    row.holder.until_ms = 0;
    return put(key, std::move(row));
  }
  return add(key, true);
}

Result<void> Holders::claim(const Key& key) {
  return rows_.contains(key) ? Result<void>() : add(key, false);
}

Result<void> Holders::add(const Key& key, bool is_used) {
  if (rows_.size() >= limits::kHoldersMax) COMMENSAL_TRY(make_room());
  Holder holder;
  holder.is_private = true;
  holder.since_ms = clock_.wall_ms();
  bool is_listed = false;
  COMMENSAL_TRY(hub_.any_version(key.content, [&](const ModelVersion& one) {
    is_listed = is_listed || std::ranges::count(one.allowed_providers, key.provider) != 0;
    if (holder.model.empty() || !one.is_private) {
      holder.model = one.name;
      holder.version = one.version;
    }
    holder.is_private = holder.is_private && one.is_private;
    return !one.is_private;
  }));
  if (is_used || (holder.is_private && is_listed)) holder.used_ms = holder.since_ms;
  return put(key, {std::move(holder)});
}

/// A share of them at once: it takes a look at all. What was never used goes before the rest, as
/// anybody may claim it; of the rest, what whoever has most of it has: an account may let providers
/// of its own claim its private models.
std::vector<Holders::Key> Holders::choose_surplus() const {
  using Rank = std::tuple<bool, std::int64_t, Key>;
  const std::size_t count = std::max<std::size_t>(rows_.size() / 64, 1);
  std::vector<Key> going;
  std::map<std::string, std::vector<Rank>> used;  // by owner
  for (const auto& [key, row] : rows_) {
    const Holder& holder = row.holder;
    if (holder.used_ms != 0) {
      used[owner_of(holder)].emplace_back(holder.is_private, holder.used_ms, key);
    } else if (going.size() < count) {
      going.push_back(key);
    }
  }
  std::vector<std::vector<Rank>> shares;
  for (auto& [owner, ranks] : used) {
    std::ranges::make_heap(ranks, std::ranges::greater());
    shares.push_back(std::move(ranks));
  }
  const auto is_smaller = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  std::ranges::make_heap(shares, is_smaller);
  while (going.size() < count && !shares.empty() && !shares.front().empty()) {
    std::ranges::pop_heap(shares, is_smaller);
    std::vector<Rank>& largest = shares.back();
    std::ranges::pop_heap(largest, std::ranges::greater());
    going.push_back(std::get<Key>(largest.back()));
    largest.pop_back();
    std::ranges::push_heap(shares, is_smaller);
  }
  return going;
}

Result<void> Holders::make_room() {
  const std::vector<Key> going = choose_surplus();
  core::Store::Batch batch;
  for (const Key& key : going)
    batch.push_back({std::string(kHolderSpace), holder_key(key), std::nullopt});
  COMMENSAL_TRY(store_.apply(batch));
  for (const Key& key : going) forget(key);
  return {};
}

Result<void> Holders::ask(const Key& key, rpc::GatewayPort::StreamId stream) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return {};
  if (found->second.holder.asked_ms == 0) {
    Row row = found->second;
    row.holder.asked_ms = clock_.wall_ms();
    COMMENSAL_TRY(put(key, std::move(row)));
  }
  Row& row = found->second;
  row.unanswered = row.asked_on == stream ? row.unanswered + 1 : 1;
  row.asked_on = stream;
  return {};
}

/// What comes while it is not asked, or asked anew, is about a time before. How long it keeps it is
/// said once: each is a write, and who says it may say it as often as it likes.
Result<bool> Holders::on_released(const Key& key, std::uint64_t until_ms) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return false;
  const bool is_answer = found->second.unanswered > 0;
  if (is_answer) --found->second.unanswered;
  if (found->second.holder.asked_ms == 0 || found->second.unanswered > 0) return false;
  if (until_ms != 0) {
    if (!is_answer) return false;
    Row row = found->second;
    row.holder.until_ms = until_ms;
    COMMENSAL_TRY(put(key, std::move(row)));
    return false;
  }
  COMMENSAL_TRY(store_.apply({{std::string(kHolderSpace), holder_key(key), std::nullopt}}));
  forget(key);
  return true;
}

}  // namespace commensal::gateway
