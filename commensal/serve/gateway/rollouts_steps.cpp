// SPDX-License-Identifier: Apache-2.0
// Rollouts step by step: what is said to their providers, and what becomes of the answers.
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/rollouts.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

constexpr std::uint64_t kLongRollout = 10;  // from here on step 1 is always audited
constexpr std::int64_t kRetryMs = 500;
/// What a provider refuses a rollout for good with.
constexpr ErrorCode kFinal[] = {ErrorCode::kInvalidArgument, ErrorCode::kFailedPrecondition,
                                ErrorCode::kUnsupported, ErrorCode::kUnauthenticated};

}  // namespace

Rollouts::Live* Rollouts::at(StreamId stream, const core::Digest& rollout) {
  const auto found = live_.find(rollout);
  if (found == live_.end() || found->second->stream != stream) return nullptr;
  return found->second->phase == Phase::kAway ? nullptr : found->second.get();
}

std::vector<Rollouts::LivePtr> Rollouts::rollouts_of(const crypto::Address& provider) const {
  std::vector<LivePtr> rollouts;
  for (const auto& [id, live] : live_) {
    if (live->entry.provider == provider) rollouts.push_back(live);
  }
  return rollouts;
}

void Rollouts::on_connected(const crypto::Address& provider) {
  for (const LivePtr& live : rollouts_of(provider)) start(*live);
}

void Rollouts::on_resume(const crypto::Address& provider) {
  for (const LivePtr& live : rollouts_of(provider)) {
    if (live->phase == Phase::kAway) start(*live);
    if (live->phase == Phase::kReady) ask(*live);
  }
}

void Rollouts::on_close(StreamId stream) {
  for (const auto& [id, live] : live_) {
    if (live->stream == stream) set_phase(*live, Phase::kAway);
  }
}

void Rollouts::on_banned(const crypto::Address& provider, const std::string& why) {
  for (const LivePtr& live : rollouts_of(provider)) fail(*live, RolloutState::kFailed, why);
}

void Rollouts::set_phase(Live& live, Phase phase) {
  Roster::Peer* const peer = deps_.roster.at(live.stream);
  if (peer != nullptr && live.phase == Phase::kAsked && peer->in_flight > 0) --peer->in_flight;
  if (peer != nullptr && phase == Phase::kAsked) ++peer->in_flight;
  live.phase = phase;
  if (phase == Phase::kAway && !std::exchange(live.is_missed, true)) watch_absence(live);
}

/// Who goes away for good, or comes and never delivers, must not keep the consumer's money.
void Rollouts::watch_absence(const Live& live) {
  deps_.loop.after(limits::kRolloutAwayMsMax, [this, id = live.entry.id, steps = live.delivered] {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second->delivered != steps) return;
    Live& live = *found->second;
    const Roster::Peer* const peer = deps_.roster.by_address(live.entry.provider);
    const bool is_paused = peer != nullptr && peer->stream != nullptr && !peer->paused.empty();
    if (live.phase == Phase::kReady || is_paused) return watch_absence(live);
    fail(live, RolloutState::kFailed,
         fmt::format("its provider was away for {} minutes", limits::kRolloutAwayMsMax / 60'000));
  });
}

/// Nothing new is asked of a provider that pauses; on_resume() goes on.
bool Rollouts::is_paused(Live& live, const Roster::Peer& peer) {
  if (!peer.paused.empty()) live.hindrance = fmt::format("its provider pauses: {}", peer.paused);
  return !peer.paused.empty();
}

/// From the beginning of a stream.
void Rollouts::start(Live& live) {
  const Roster::Peer* const peer = deps_.roster.by_address(live.entry.provider);
  if (!live.client || peer == nullptr) return;
  if (!peer->banned.empty()) {
    return fail(live, RolloutState::kFailed,
                fmt::format("its provider is banned: {}", peer->banned));
  }
  if (peer->stream == nullptr || is_paused(live, *peer)) return;
  set_phase(live, Phase::kAway);
  live.stream = peer->stream_id;
  live.is_offered = false;
  ask(live);
}

void Rollouts::say(Live& live, rpc::ToProvider message) {
  ++live.words;
  watch(live);
  const Roster::Peer* const peer = deps_.roster.at(live.stream);
  if (peer != nullptr && peer->stream != nullptr) peer->stream->send(std::move(message));
}

/// Who is silent loses the stream, and all that is on it begins again on the next one.
void Rollouts::watch(const Live& live) {
  const Roster::Peer* const asked = deps_.roster.at(live.stream);
  const std::uint64_t pauses = asked != nullptr ? asked->pauses : 0;
  deps_.loop.after(deps_.silence_ms_max, [this, id = live.entry.id, words = live.words, pauses] {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second->words != words) return;
    if (found->second->phase != Phase::kAsked) return;
    const Roster::Peer* const peer = deps_.roster.at(found->second->stream);
    if (peer == nullptr || peer->stream == nullptr) return;
    const bool has_paused = !peer->paused.empty() || peer->pauses != pauses;
    if (has_paused) return watch(*found->second);
    peer->stream->close();
  });
}

void Rollouts::retry_later(const Live& live) {
  deps_.loop.after(kRetryMs, [this, id = live.entry.id, words = live.words] {
    const auto found = live_.find(id);
    if (found != live_.end() && found->second->words == words) start(*found->second);
  });
}

/// The next word about the next step, unless too many steps wait for their audits.
void Rollouts::ask(Live& live) {
  set_phase(live, Phase::kReady);
  ++live.words;
  if (audits(live.entry.id).open.size() >= limits::kStepAuditsOpenMax) return;
  const Roster::Peer* const peer = deps_.roster.at(live.stream);
  if (peer != nullptr && is_paused(live, *peer)) return;
  if (const auto pending = live.client->pending()) {
    set_phase(live, Phase::kAsked);
    return say(live, rpc::Countersign{{*pending}});
  }
  if (const auto afforded = afford(live); !afforded) {
    live.hindrance = afforded.error().message;
    return retry_later(live);
  }
  live.hindrance.clear();
  set_phase(live, Phase::kAsked);
  const auto begin = live.client->begin();
  if (!begin) return fail(live, RolloutState::kFailed, begin.error().message);
  if (std::exchange(live.is_offered, true)) return say(live, *begin);
  deps_.roster.grant(live.stream, live.entry.content);
  const rollout::JobRecord& record = live.client->record();
  say(live, rpc::Offer{record.job, live.entry.content, record.input_salt, record.inputs,
                       begin->step, begin->value});
}

void Rollouts::on_commit(StreamId stream, const rpc::Commit& message) {
  for (const rpc::Commit::Item& item : message.items) commit(stream, item);
}

void Rollouts::commit(StreamId stream, const rpc::Commit::Item& item) {
  Live* const live = at(stream, item.job);
  if (live == nullptr || live->phase != Phase::kAsked) return;
  // Without a round it earns nothing: that is its provider's affair.
  if (item.round != protocol::kNoDraw) {
    const auto fits = deps_.lottery.check_round(live->client->job(), item.round);
    if (!fits) return again(*live, fits.error());  // it was closed meanwhile
  }
  Result<receipt::Countersign> signature = receipt::Countersign();
  const auto kept = deps_.store.together([&]() -> Result<void> {
    signature = live->client->on_commit(item);
    if (!signature) return tl::unexpected(signature.error());
    COMMENSAL_ASSIGN(const auto receipt, live->client->receipt(item.step));
    return deps_.lottery.owe({&receipt, 1});
  });
  if (!kept) return fail(*live, RolloutState::kFailed, kept.error().message);
  say(*live, rpc::Countersign{{*std::move(signature)}});
}

/// The delivered step, its receipt, what it costs and whether its audit was drawn are on disk
/// together. It is drawn after the commitment was signed: the provider cannot know.
Result<std::optional<ReceiptRecord>> Rollouts::keep_delivery(Live& live,
                                                             const rpc::Deliver& message) {
  COMMENSAL_ASSIGN(auto delivered, live.client->check(message));
  ReceiptRecord record;
  COMMENSAL_ASSIGN(record.receipt, live.client->receipt(message.step));
  record.account = live.entry.account;
  record.model = live.entry.model;
  record.version = live.entry.version;
  record.model_content = live.entry.content;
  record.delivered_ms = deps_.clock.wall_ms();
  const bool is_first = message.step == 1 && live.entry.steps >= kLongRollout;
  const bool is_drawn = is_first || deps_.rng.next_unit() < live.entry.audit_probability;
  record.audit = is_drawn ? AuditState::kDrawn : AuditState::kNotDrawn;
  std::vector<ReceiptRecord> records = {std::move(record)};
  COMMENSAL_ASSIGN(const auto outcomes, deps_.till.keep(records, [&] {
    return live.client->keep(std::move(delivered));
  }));
  if (!outcomes[0]) {
    again(live, outcomes[0].error());
    return std::nullopt;
  }
  --live.reserved;
  return std::move(records[0]);
}

void Rollouts::on_deliver(StreamId stream, const rpc::Deliver& message) {
  Live* const live = at(stream, message.job);
  if (live == nullptr || live->phase != Phase::kAsked) return;
  auto kept = keep_delivery(*live, message);
  if (!kept) return fail(*live, RolloutState::kFailed, kept.error().message);
  if (!*kept) return;
  if (Roster::Peer* const peer = deps_.roster.at(stream)) {
    ++peer->served;
    peer->health.on_answer(1);
    peer->cached.insert(live->entry.content);
  }
  ++live->delivered;
  live->is_missed = false;
  count(**kept);
  deps_.events.push(event::Delivered{**std::move(kept)});
  if (live->client->is_finished()) return finish(*live);
  ask(*live);
  wake(message.job);
}

void Rollouts::on_refuse(StreamId stream, const rpc::Refuse& message) {
  Live* const live = at(stream, message.job);
  if (live == nullptr) return;
  if (Roster::Peer* const peer = deps_.roster.at(stream)) peer->health.on_refusal();
  // Else it is not the rollout's fault: its provider has too much to do, say, or no room on its
  // disk.
  if (std::ranges::count(kFinal, message.reason.code) > 0) {
    return fail(*live, RolloutState::kFailed, message.reason.message);
  }
  again(*live, message.reason);
}

/// Later, from the beginning of a stream.
void Rollouts::again(Live& live, const core::Error& why) {
  set_phase(live, Phase::kAway);
  live.hindrance = why.message;
  ++live.words;
  retry_later(live);
}

Result<void> Rollouts::afford(const Live& live) const {
  COMMENSAL_TRY(deps_.lottery.cover());
  return deps_.till.afford(live.entry.account);
}

/// Its end, whatever it was.
void Rollouts::close(const RolloutEntry& entry) {
  deps_.events.report(book_.put(entry));
  if (const auto live = live_.find(entry.id); live != live_.end()) {
    set_phase(*live->second, Phase::kAway);
    deps_.till.release(entry.account, live->second->reserved);
    live_.erase(live);
  }
  wake(entry.id);
}

void Rollouts::finish(Live& live) {
  RolloutEntry entry = live.entry;
  entry.state = RolloutState::kFinished;
  close(entry);
}

void Rollouts::fail(Live& live, RolloutState state, const std::string& why) {
  RolloutEntry entry = live.entry;
  entry.state = state;
  entry.reason = why;
  close(entry);
}

void Rollouts::on_audit(const ReceiptRecord& record) {
  const core::Digest rollout = protocol::job_id(record.receipt.job);
  const RolloutEntry* const known = book_.find(rollout);
  if (known == nullptr) return;
  count(record);
  if (record.audit == AuditState::kDrawn) return;
  if (record.audit == AuditState::kMatched) {
    const auto live = live_.find(rollout);
    if (live != live_.end() && live->second->phase == Phase::kReady) ask(*live->second);
    return wake(rollout);
  }
  RolloutEntry entry = *known;
  entry.state = RolloutState::kCaught;
  entry.reason = fmt::format("step {} of rollout {}: {}", record.receipt.step,
                             core::to_hex(rollout), record.verdict->reason);
  close(entry);
}

}  // namespace commensal::gateway
