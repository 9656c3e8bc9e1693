// SPDX-License-Identifier: Apache-2.0
// Chains link by link: what is said to their providers, and what becomes of the answers.
#include <algorithm>
#include <commensal/serve/gateway/chains.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

constexpr std::uint64_t kLongChain = 10;  // from here on link 1 is always audited
constexpr std::int64_t kRetryMs = 500;
/// What a provider refuses a chain for good with.
constexpr ErrorCode kFinal[] = {ErrorCode::kInvalidArgument, ErrorCode::kFailedPrecondition,
                                ErrorCode::kUnsupported, ErrorCode::kUnauthenticated};

}  // namespace

Chains::Live* Chains::at(LinkId link, const core::Digest& chain) {
  const auto found = live_.find(chain);
  if (found == live_.end() || found->second->link != link) return nullptr;
  return found->second->phase == Phase::kAway ? nullptr : found->second.get();
}

std::vector<Chains::LivePtr> Chains::chains_of(const crypto::Address& provider) const {
  std::vector<LivePtr> chains;
  for (const auto& [id, live] : live_) {
    if (live->entry.provider == provider) chains.push_back(live);
  }
  return chains;
}

void Chains::on_connected(const crypto::Address& provider) {
  for (const LivePtr& live : chains_of(provider)) start(*live);
}

void Chains::on_resume(const crypto::Address& provider) {
  for (const LivePtr& live : chains_of(provider)) {
    if (live->phase == Phase::kAway) start(*live);
    if (live->phase == Phase::kReady) ask(*live);
  }
}

void Chains::on_close(LinkId link) {
  for (const auto& [id, live] : live_) {
    if (live->link == link) set_phase(*live, Phase::kAway);
  }
}

void Chains::on_banned(const crypto::Address& provider, const std::string& why) {
  for (const LivePtr& live : chains_of(provider)) fail(*live, ChainState::kFailed, why);
}

void Chains::set_phase(Live& live, Phase phase) {
  Roster::Peer* const peer = deps_.roster.at(live.link);
  if (peer != nullptr && live.phase == Phase::kAsked && peer->in_flight > 0) --peer->in_flight;
  if (peer != nullptr && phase == Phase::kAsked) ++peer->in_flight;
  live.phase = phase;
}

/// Nothing new is asked of a provider that pauses; on_resume() goes on.
bool Chains::is_paused(Live& live, const Roster::Peer& peer) {
  if (!peer.paused.empty()) live.hindrance = fmt::format("its provider pauses: {}", peer.paused);
  return !peer.paused.empty();
}

/// From the beginning of a stream: the provider says that the chain is at hand, then links go on.
void Chains::start(Live& live) {
  const Roster::Peer* const peer = deps_.roster.by_address(live.entry.provider);
  if (!live.client || peer == nullptr) return;
  if (!peer->banned.empty()) {
    return fail(live, ChainState::kFailed, fmt::format("its provider is banned: {}", peer->banned));
  }
  if (peer->link == nullptr || is_paused(live, *peer)) return;
  set_phase(live, Phase::kStarting);
  live.link = peer->link_id;
  deps_.roster.grant(live.link, live.entry.content);
  const chain::ChainRecord& record = live.client->record();
  say(live, rpc::Offer{record.job, live.entry.content, record.input_salt, record.inputs});
}

void Chains::say(Live& live, rpc::ToProvider message) {
  ++live.words;
  watch(live);
  const Roster::Peer* const peer = deps_.roster.at(live.link);
  if (peer != nullptr && peer->link != nullptr) peer->link->send(std::move(message));
}

/// Who is silent loses the stream, and all that is on it begins again on the next one.
void Chains::watch(const Live& live) {
  const Roster::Peer* const asked = deps_.roster.at(live.link);
  const std::uint64_t pauses = asked != nullptr ? asked->pauses : 0;
  deps_.loop.after(deps_.silence_ms_max, [this, id = live.entry.id, words = live.words, pauses] {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second->words != words) return;
    const Phase phase = found->second->phase;
    if (phase != Phase::kStarting && phase != Phase::kAsked) return;
    const Roster::Peer* const peer = deps_.roster.at(found->second->link);
    if (peer == nullptr || peer->link == nullptr) return;
    const bool has_paused = !peer->paused.empty() || peer->pauses != pauses;
    if (has_paused) return watch(*found->second);
    peer->link->close();
  });
}

void Chains::retry_later(const Live& live) {
  deps_.loop.after(kRetryMs, [this, id = live.entry.id, words = live.words] {
    const auto found = live_.find(id);
    if (found != live_.end() && found->second->words == words) start(*found->second);
  });
}

void Chains::on_ready(LinkId link, const rpc::Ready& message) {
  Live* const live = at(link, message.job);
  if (live == nullptr || live->phase != Phase::kStarting) return;
  ask(*live);
}

/// The next word about the next link, unless too many links wait for their audits.
void Chains::ask(Live& live) {
  set_phase(live, Phase::kReady);
  ++live.words;
  if (audits(live.entry.id).open.size() >= limits::kLinkAuditsOpenMax) return;
  const Roster::Peer* const peer = deps_.roster.at(live.link);
  if (peer != nullptr && is_paused(live, *peer)) return;
  if (const auto pending = live.client->pending()) {
    set_phase(live, Phase::kAsked);
    return say(live, rpc::Countersign{{{live.entry.id, pending->step, pending->signature}}});
  }
  if (const auto afforded = afford(live); !afforded) {
    live.hindrance = afforded.error().message;
    return retry_later(live);
  }
  live.hindrance.clear();
  set_phase(live, Phase::kAsked);
  const auto begin = live.client->begin();
  if (!begin) return fail(live, ChainState::kFailed, begin.error().message);
  say(live, rpc::Begin{live.entry.id, begin->step, begin->value});
}

void Chains::on_commit(LinkId link, const rpc::Commit& message) {
  for (const rpc::Commit::Item& item : message.items) commit(link, item);
}

void Chains::commit(LinkId link, const rpc::Commit::Item& item) {
  Live* const live = at(link, item.job);
  if (live == nullptr || live->phase != Phase::kAsked) return;
  // Without a round it earns nothing: that is its provider's affair.
  if (item.round != protocol::kNoDraw) {
    const auto fits = deps_.lottery.check_round(live->client->job(), item.round);
    if (!fits) return again(*live, fits.error());  // it was closed meanwhile
  }
  Result<chain::Countersign> signature = chain::Countersign();
  const auto kept = deps_.store.together([&]() -> Result<void> {
    signature = live->client->on_commit({item.step, item.commitment, item.round, item.signature});
    if (!signature) return tl::unexpected(signature.error());
    COMMENSAL_ASSIGN(const auto receipt, live->client->receipt(item.step));
    return deps_.lottery.owe({&receipt, 1});
  });
  if (!kept) return fail(*live, ChainState::kFailed, kept.error().message);
  say(*live, rpc::Countersign{{{item.job, signature->step, signature->signature}}});
}

/// The delivered link, its receipt, what it costs and whether its audit was drawn are on disk
/// together. It is drawn after the commitment was signed: the provider cannot know.
Result<std::optional<ReceiptRecord>> Chains::keep_delivery(Live& live,
                                                           const rpc::Deliver& message) {
  COMMENSAL_ASSIGN(auto delivered,
                   live.client->check({message.step, message.output_salt, message.outputs}));
  ReceiptRecord record;
  COMMENSAL_ASSIGN(record.receipt, live.client->receipt(message.step));
  record.account = live.entry.account;
  record.model = live.entry.model;
  record.version = live.entry.version;
  record.model_content = live.entry.content;
  record.delivered_ms = deps_.clock.wall_ms();
  const bool is_first = message.step == 1 && live.entry.steps >= kLongChain;
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

void Chains::on_deliver(LinkId link, const rpc::Deliver& message) {
  Live* const live = at(link, message.job);
  if (live == nullptr || live->phase != Phase::kAsked) return;
  auto kept = keep_delivery(*live, message);
  if (!kept) return fail(*live, ChainState::kFailed, kept.error().message);
  if (!*kept) return;
  if (Roster::Peer* const peer = deps_.roster.at(link)) {
    ++peer->served;
    peer->cached.insert(live->entry.content);
  }
  count(**kept);
  deps_.events.push(event::Delivered{**std::move(kept)});
  if (live->client->is_finished()) return finish(*live);
  ask(*live);
  wake(message.job);
}

void Chains::on_refuse(LinkId link, const rpc::Refuse& message) {
  Live* const live = at(link, message.job);
  if (live == nullptr) return;
  // Else it is not the chain's fault: its provider has too much to do, say, or no room on its disk.
  if (std::ranges::count(kFinal, message.reason.code) > 0) {
    return fail(*live, ChainState::kFailed, message.reason.message);
  }
  again(*live, message.reason);
}

/// Later, from the beginning of a stream.
void Chains::again(Live& live, const core::Error& why) {
  set_phase(live, Phase::kAway);
  live.hindrance = why.message;
  ++live.words;
  retry_later(live);
}

Result<void> Chains::afford(const Live& live) const {
  COMMENSAL_TRY(deps_.lottery.cover());
  return deps_.till.afford(live.entry.account);
}

/// Its end, whatever it was.
void Chains::close(const ChainEntry& entry) {
  deps_.events.report(book_.put(entry));
  if (const auto live = live_.find(entry.id); live != live_.end()) {
    set_phase(*live->second, Phase::kAway);
    deps_.till.release(entry.account, live->second->reserved);
    live_.erase(live);
  }
  wake(entry.id);
}

void Chains::finish(Live& live) {
  ChainEntry entry = live.entry;
  entry.state = ChainState::kFinished;
  close(entry);
}

void Chains::fail(Live& live, ChainState state, const std::string& why) {
  ChainEntry entry = live.entry;
  entry.state = state;
  entry.reason = why;
  close(entry);
}

void Chains::on_audit(const ReceiptRecord& record) {
  count(record);
  if (record.audit == AuditState::kDrawn) return;
  const core::Digest chain = protocol::job_id(record.receipt.job);
  const ChainEntry* const known = book_.find(chain);
  if (known == nullptr) return;
  if (record.audit == AuditState::kMatched) {
    const auto live = live_.find(chain);
    if (live != live_.end() && live->second->phase == Phase::kReady) ask(*live->second);
    return wake(chain);
  }
  ChainEntry entry = *known;
  entry.state = ChainState::kCaught;
  entry.reason = fmt::format("link {} of chain {}: {}", record.receipt.step, core::to_hex(chain),
                             record.verdict->reason);
  close(entry);
}

}  // namespace commensal::gateway
