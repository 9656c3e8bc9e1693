// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/provider/holdings.hpp>

namespace commensal::provider {

using core::Result;

namespace {

constexpr std::string_view kHeldSpace = "models_held";  // model and gateway -> Holding
constexpr std::uint64_t kOwedAheadMsMax = 3'600'000, kOwedAheadShare = 16;

core::Bytes held_key(const Holdings::Key& key) {
  core::Bytes bytes(key.model.begin(), key.model.end());
  bytes.insert(bytes.end(), key.gateway.bytes.begin(), key.gateway.bytes.end());
  return bytes;
}

Holdings::Key key_of_held(core::ByteView bytes) {
  Holdings::Key key;
  const std::size_t all = key.model.size() + key.gateway.bytes.size();
  if (bytes.size() != all) return key;
  std::copy_n(bytes.begin(), key.model.size(), key.model.begin());
  std::copy_n(bytes.begin() + key.model.size(), key.gateway.bytes.size(),
              key.gateway.bytes.begin());
  return key;
}

}  // namespace

Result<void> Holdings::open() {
  Result<void> status;
  COMMENSAL_TRY(store_.scan(kHeldSpace, {}, [&](core::ByteView key, core::ByteView value) {
    auto holding = protocol::decode_stored<Holding>(value);
    if (holding) {
      held_.insert_or_assign(key_of_held(key), *holding);
    } else {
      status = tl::unexpected(holding.error());
    }
    return holding.has_value();
  }));
  COMMENSAL_TRY(status);
  return prune();
}

/// What the cache has let go of for others is as if it had never been there.
Result<void> Holdings::prune() {
  std::vector<Key> gone;
  core::Store::Batch batch;
  for (const auto& [key, holding] : held_) {
    if (holding.is_let_go || is_there_(key.model)) continue;
    gone.push_back(key);
    batch.push_back({std::string(kHeldSpace), held_key(key), std::nullopt});
  }
  if (gone.empty()) return {};
  COMMENSAL_TRY(store_.apply(batch));
  for (const Key& key : gone) held_.erase(key);
  return {};
}

Result<void> Holdings::put(const Key& key, const Holding& holding) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(holding));
  COMMENSAL_TRY(store_.apply({{std::string(kHeldSpace), held_key(key), std::move(row)}}));
  held_.insert_or_assign(key, holding);
  return {};
}

const Holdings::Holding* Holdings::find(const Key& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? nullptr : &found->second;
}

Result<void> Holdings::use(const Key& key) {
  if (find(key) != nullptr) return {};
  if (!is_there_(key.model)) return {};
  COMMENSAL_TRY(prune());
  return put(key, {});
}

Result<void> Holdings::take_back(const Key& key) {
  const Holding* const found = find(key);
  if (found == nullptr || !found->is_let_go) return {};
  return put(key, {.until_ms = found->until_ms});
}

Result<void> Holdings::owe(const Key& key, std::uint64_t until_ms, std::uint64_t now_ms) {
  const Holding* const found = find(key);
  if (found == nullptr || until_ms <= found->until_ms || until_ms <= now_ms) return {};
  Holding holding = *found;
  holding.until_ms = until_ms + std::min((until_ms - now_ms) / kOwedAheadShare, kOwedAheadMsMax);
  return put(key, holding);
}

bool Holdings::is_anothers(const Key& key) const {
  if (!is_there_(key.model)) return false;
  for (auto one = held_.lower_bound({key.model, {}});
       one != held_.end() && one->first.model == key.model; ++one) {
    if (one->first.gateway != key.gateway && !one->second.is_let_go) return true;
  }
  return false;
}

Result<bool> Holdings::let_go(const Key& key, bool is_coming) {
  const Holding* const found = find(key);
  const bool is_ours = is_coming || (is_there_(key.model) && !is_anothers(key));
  if (found == nullptr && !is_ours) return false;
  if (found != nullptr && found->is_let_go) return true;
  Holding holding = found == nullptr ? Holding() : *found;
  holding.is_let_go = true;
  COMMENSAL_TRY(put(key, holding));
  return true;
}

Result<void> Holdings::end(const Key& key) {
  if (find(key) == nullptr) return {};
  COMMENSAL_TRY(store_.apply({{std::string(kHeldSpace), held_key(key), std::nullopt}}));
  held_.erase(key);
  return {};
}

std::vector<Holdings::Key> Holdings::let_go() const {
  std::vector<Key> keys;
  for (const auto& [key, holding] : held_) {
    if (holding.is_let_go) keys.push_back(key);
  }
  return keys;
}

}  // namespace commensal::provider
