// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/serve/gateway/recalls.hpp>
#include <utility>

namespace commensal::gateway {

Recalls::Recalls(const Dependencies& deps, std::int64_t idle_ms) : deps_(deps), idle_ms_(idle_ms) {
  deps_.hub.on_withdrawn([this](const core::Digest& content) {
    gone_.add(content);
    turn_later();
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

void Recalls::add_if_due(const Holders::Key& key, const Holders::Row& row, Due& due) {
  const Roster::Peer* const peer = deps_.roster.by_address(key.provider);
  if (peer == nullptr || peer->stream == nullptr || !peer->knows_release) return;
  if (row.holder.asked_ms != 0 && row.asked_on == peer->stream_id) return;
  if (deps_.rollouts.needs_model(key.content) || deps_.accusations.concerns(key.provider)) return;
  if (may_hold(key, row.holder, false)) return;
  Asked& asked = due[key.provider];
  asked.stream = peer->stream_id;
  asked.models.push_back(key.content);
}

/// Before it is said it is on disk that it was: who is away then is asked when it is back.
void Recalls::send(const Due& due) {
  if (due.empty()) return;
  const auto asked = deps_.store.together([&]() -> core::Result<void> {
    for (const auto& [provider, one] : due) {
      for (const core::Digest& model : one.models)
        COMMENSAL_TRY(deps_.holders.ask({provider, model}, one.stream));
    }
    return {};
  });
  deps_.events.report(asked);
  if (!asked) return;
  for (const auto& [provider, one] : due) {
    for (std::size_t at = 0; at < one.models.size(); at += limits::kHelloModelsMax) {
      const std::size_t end = std::min(one.models.size(), at + limits::kHelloModelsMax);
      rpc::Release word;
      for (std::size_t i = at; i < end; ++i) {
        deps_.roster.revoke(one.stream, one.models[i]);
        word.models.push_back(one.models[i]);
      }
      deps_.roster.say(one.stream, std::move(word));
    }
  }
}

/// There may be no other turn.
void Recalls::on_ban(const crypto::Address& provider) {
  const Roster::Peer* const peer = deps_.roster.by_address(provider);
  if (peer == nullptr || peer->stream == nullptr || !peer->knows_release) return;
  ask_banned(provider, peer->stream_id);
}

void Recalls::on_turned_away(const crypto::Address& provider, rpc::GatewayPort::StreamId stream) {
  ask_banned(provider, stream);
}

/// Goes on behind what was looked at the last time, and begins anew once it is through.
void Recalls::ask_banned(const crypto::Address& provider, rpc::GatewayPort::StreamId stream) {
  if (deps_.accusations.concerns(provider)) return;
  const auto& rows = deps_.holders.rows();
  const auto place = banned_.find(provider);
  auto row = rows.lower_bound({provider, place == banned_.end() ? core::Digest{} : place->second});
  const auto is_its = [&] { return row != rows.end() && row->first.provider == provider; };
  Asked asked{stream, {}};
  for (std::size_t left = limits::kHoldersLookedAtMax; is_its() && left > 0; ++row, --left) {
    if (row->second.holder.asked_ms != 0 && row->second.asked_on == stream) continue;
    if (deps_.rollouts.needs_model(row->first.content)) continue;
    if (!may_hold(row->first, row->second.holder, true)) asked.models.push_back(row->first.content);
  }
  if (is_its()) {
    banned_[provider] = row->first.content;
    if (banned_.size() > limits::kHoldersMax / limits::kHoldersLookedAtMax)
      banned_.erase(banned_.begin());
  } else {
    banned_.erase(provider);
  }
  if (!asked.models.empty()) send({{provider, std::move(asked)}});
}

/// Some of them, round and round.
void Recalls::look() {
  const auto& rows = deps_.holders.rows();
  Due due;
  auto row = rows.lower_bound(next_);
  for (std::size_t left = std::min(rows.size(), limits::kHoldersLookedAtMax); left > 0; --left) {
    if (row == rows.end()) row = rows.begin();
    add_if_due(row->first, row->second, due);
    ++row;
  }
  next_ = row == rows.end() ? Holders::Key() : row->first;
  send(due);
}

void Recalls::on_connected(const crypto::Address& provider) {
  come_.add(provider);
  turn_later();
}

void Recalls::turn_later() {
  if (!std::exchange(turns_, true)) deps_.loop.post([this] { turn(); });
}

void Recalls::turn() {
  turns_ = false;
  Due due;
  std::size_t left = limits::kHoldersLookedAtMax;
  const auto step = [&](auto& walks, auto look) {
    if (walks.empty() || left == 0) return;
    const std::size_t most = std::min(left, limits::kHoldersInARowMax);
    std::size_t rows = most;
    walks.step([&](const auto& name, const auto& place) { return look(name, place, rows); });
    left -= std::max<std::size_t>(most - rows, 1);
  };
  while (left > 0 && !(come_.empty() && gone_.empty())) {
    step(come_, [&](const auto& provider, const Place& place, std::size_t& rows) {
      return look_at_provider(provider, place, rows, due);
    });
    step(gone_, [&](const auto& content, const auto& from, std::size_t& rows) {
      return look_at_model(content, from, rows, due);
    });
  }
  send(due);
  if (!come_.empty() || !gone_.empty()) turn_later();
}

std::optional<Recalls::Place> Recalls::look_at_provider(const crypto::Address& provider,
                                                        Place place, std::size_t& rows, Due& due) {
  const Roster::Peer* const peer = deps_.roster.by_address(provider);
  if (peer == nullptr || peer->stream == nullptr || !peer->knows_release) return std::nullopt;
  if (!place.is_noted) return note_cached(*peer, place.from, rows);
  const auto& all = deps_.holders.rows();
  auto row = all.lower_bound({provider, place.from});
  for (; row != all.end() && row->first.provider == provider; ++row, --rows) {
    if (rows == 0) return Place{true, row->first.content};
    add_if_due(row->first, row->second, due);
  }
  return std::nullopt;
}

/// A gateway of an earlier release gave models' files out and did not note it.
std::optional<Recalls::Place> Recalls::note_cached(const Roster::Peer& peer, core::Digest from,
                                                   std::size_t& rows) {
  auto model = peer.cached.lower_bound(from);
  const auto noted = deps_.store.together([&]() -> core::Result<void> {
    for (; model != peer.cached.end() && rows > 0; ++model, --rows) {
      if (deps_.holders.find({peer.address, *model}) != nullptr) continue;
      COMMENSAL_ASSIGN(const bool is_known, deps_.hub.knows_file(*model));
      if (is_known) COMMENSAL_TRY(deps_.holders.claim({peer.address, *model}));
    }
    return {};
  });
  deps_.events.report(noted);
  watch();
  const bool is_through = model == peer.cached.end() || !noted;
  return is_through ? Place{true, {}} : Place{false, *model};
}

std::optional<crypto::Address> Recalls::look_at_model(const core::Digest& content,
                                                      crypto::Address from, std::size_t& rows,
                                                      Due& due) {
  const std::set<crypto::Address>* const all = deps_.holders.who_has(content);
  if (all == nullptr) return std::nullopt;
  for (auto provider = all->lower_bound(from); provider != all->end(); ++provider, --rows) {
    if (rows == 0) return *provider;
    const Holders::Key key{*provider, content};
    add_if_due(key, *deps_.holders.find(key), due);
  }
  return std::nullopt;
}

void Recalls::on_released(const crypto::Address& provider, const rpc::Released& message) {
  deps_.events.report(deps_.store.together([&]() -> core::Result<void> {
    for (const rpc::Released::Item& item : message.items)
      COMMENSAL_TRY(deps_.holders.on_released({provider, item.model}, item.until_ms));
    return {};
  }));
}

}  // namespace commensal::gateway
