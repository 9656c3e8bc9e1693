// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/serve/gateway/recalls.hpp>
#include <utility>

namespace commensal::gateway {

Recalls::Recalls(const Dependencies& deps, std::int64_t idle_ms) : deps_(deps), idle_ms_(idle_ms) {
  deps_.hub.on_withdrawn([this](const core::Digest& content) {
    const bool is_first = changed_.empty();
    changed_.insert(content);
    if (is_first) deps_.loop.post([this] { look_at_changed(); });
  });
}

void Recalls::watch() {
  if (deps_.holders.rows().empty() || std::exchange(looks_, true)) return;
  const std::int64_t often_ms = idle_ms_ == 0 ? limits::kRemovalLookMs : idle_ms_ / 4;
  deps_.loop.after(std::clamp<std::int64_t>(often_ms, 1'000, limits::kRemovalLookMs), [this] {
    looks_ = false;
    look();
    watch();
  });
}

bool Recalls::may_hold(const Holders::Key& key, const Holder& holder, bool is_banned) {
  const Roster::Peer* const peer = deps_.roster.by_address(key.provider);
  const std::int64_t now_ms = deps_.clock.wall_ms();
  const bool is_idle = idle_ms_ > 0 && now_ms - holder.used_ms >= idle_ms_;
  const bool is_out = is_banned || is_idle || (peer != nullptr && !peer->banned.empty());
  const auto may = deps_.hub.any_version(key.content, [&](const ModelVersion& one) {
    if (!one.is_private) return true;
    if (is_out || !std::ranges::count(one.allowed_providers, key.provider)) return false;
    if (peer == nullptr || !peer->privacy) return true;  // it is not known yet
    const auto served = deps_.hub.repository().config(one.name, one.version);
    return !served || why_not_shown(*peer->privacy, (*served)->privacy_class, now_ms).empty();
  });
  deps_.events.report(may);
  return may.value_or(true);
}

bool Recalls::is_due(const Holders::Key& key, const Holders::Row& row, bool is_banned) {
  const Roster::Peer* const peer = deps_.roster.by_address(key.provider);
  if (peer == nullptr || peer->stream == nullptr || !peer->knows_release) return false;
  if (row.holder.asked_ms != 0 && row.asked_on == peer->stream_id) return false;
  if (deps_.rollouts.needs_model(key.content) || deps_.accusations.concerns(key.provider))
    return false;
  return !may_hold(key, row.holder, is_banned);
}

void Recalls::ask(const crypto::Address& provider, bool is_banned) {
  std::vector<core::Digest> models;
  const auto& rows = deps_.holders.rows();
  for (auto row = rows.lower_bound({provider, {}});
       row != rows.end() && row->first.provider == provider; ++row) {
    if (is_due(row->first, row->second, is_banned)) models.push_back(row->first.content);
  }
  send(provider, models);
}

/// Before it is said it is on disk that it was: who is away then is asked when it is back.
void Recalls::send(const crypto::Address& provider, const std::vector<core::Digest>& models) {
  const Roster::Peer* const peer = deps_.roster.by_address(provider);
  for (std::size_t at = 0; at < models.size(); at += limits::kHelloModelsMax) {
    rpc::Release word;
    const std::size_t end = std::min(models.size(), at + limits::kHelloModelsMax);
    for (std::size_t i = at; i < end; ++i) {
      const auto asked = deps_.holders.ask({provider, models[i]}, peer->stream_id);
      deps_.events.report(asked);
      if (!asked) return;
      deps_.roster.revoke(peer->stream_id, models[i]);
      word.models.push_back(models[i]);
    }
    peer->stream->send(std::move(word));
  }
}

/// Some of them, round and round.
void Recalls::look() {
  const auto& rows = deps_.holders.rows();
  std::map<crypto::Address, std::vector<core::Digest>> due;
  auto row = rows.lower_bound(next_);
  for (std::size_t left = std::min(rows.size(), limits::kHoldersLookedAtMax); left > 0; --left) {
    if (row == rows.end()) row = rows.begin();
    if (is_due(row->first, row->second, false))
      due[row->first.provider].push_back(row->first.content);
    ++row;
  }
  next_ = row == rows.end() ? Holders::Key() : row->first;
  for (const auto& [provider, models] : due) send(provider, models);
}

void Recalls::look_at_changed() {
  std::map<crypto::Address, std::vector<core::Digest>> due;
  for (const core::Digest& content : std::exchange(changed_, {})) {
    for (const auto& [address, peer] : deps_.roster.peers()) {
      const Holders::Key key{address, content};
      const Holders::Row* const row = deps_.holders.find(key);
      if (row != nullptr && is_due(key, *row, false)) due[address].push_back(content);
    }
  }
  for (const auto& [provider, models] : due) send(provider, models);
}

void Recalls::on_released(const crypto::Address& provider, const rpc::Released& message) {
  for (const rpc::Released::Item& item : message.items) {
    deps_.events.report(deps_.holders.on_released({provider, item.model}, item.until_ms));
  }
}

}  // namespace commensal::gateway
