// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <utility>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using core::fail;

std::string exclusion(const Roster::Peer& peer, const ModelVersion& model,
                      const std::set<crypto::Address>& tried, bool is_expected) {
  const auto& allowed = model.allowed_providers;
  if (!peer.banned.empty()) return fmt::format("is banned ({})", peer.banned);
  if (model.is_private &&
      std::find(allowed.begin(), allowed.end(), peer.address) == allowed.end()) {
    return fmt::format("({}) is not on the allow-list of the model's owner",
                       crypto::to_text(peer.address));
  }
  if (peer.stream == nullptr && !is_expected) return "is not connected";
  if (tried.contains(peer.address)) return "was tried and gave no answer";
  return "";
}

}  // namespace

void Roster::Peer::on_refusal(const std::string& why) {
  health.on_refusal();
  if (why.empty()) return;
  const std::uint64_t before = served > refusals.served ? 0 : refusals.count;
  refusals = {before + 1, why, served};
}

core::Result<void> Roster::open() {
  COMMENSAL_TRY(bans_.open());
  for (const auto& [address, ban] : bans_.all()) {
    if (bans_.why(address).empty()) continue;
    Peer& peer = peers_[address];
    peer.address = address;
    peer.name = crypto::to_text(address);
    peer.banned = ban.why;
  }
  return {};
}

void Roster::remember(const crypto::Address& provider, std::uint64_t answers) {
  Peer& peer = peers_[provider];
  peer.address = provider;
  if (peer.name.empty()) peer.name = crypto::to_text(provider);
  peer.served += answers;
  forget_one();
}

void Roster::expect(const std::vector<crypto::Address>& providers) {
  for (const crypto::Address& provider : providers) {
    if (connected(provider) != nullptr) continue;
    remember(provider, 0);
    if (peers_.contains(provider)) expected_.insert(provider);
  }
}

void Roster::end_expecting() {
  for (const crypto::Address& provider : std::exchange(expected_, {})) {
    const auto peer = peers_.find(provider);
    if (peer == peers_.end() || peer->second.stream != nullptr) continue;
    if (peer->second.served == 0 && peer->second.banned.empty()) peers_.erase(peer);
  }
}

Roster::StreamId Roster::admit(std::shared_ptr<rpc::ProviderStream> stream,
                               const rpc::Channel& channel, const std::string& from,
                               std::optional<rpc::HashChainPosition> chain) {
  const StreamId id = ++last_stream_;
  make_room(from);
  strangers_[from].insert(id);
  Session& session = sessions_[id];
  session.stream = std::move(stream);
  session.nonce = rng_.next_digest();
  session.channel = channel;
  session.from = from;
  const crypto::Address own = key_.address();
  session.stream->send(rpc::Challenge{
      session.nonce, own, crypto::sign(key_, rpc::challenge_digest(session.nonce, own, channel)),
      std::move(chain)});
  return id;
}

void Roster::make_room(const std::string& from) {
  const std::set<StreamId>* most = nullptr;
  for (const auto& [address, streams] : strangers_) {
    if (most == nullptr || streams.size() > most->size()) most = &streams;
  }
  const auto here = strangers_.find(from);
  const bool full_here =
      here != strangers_.end() && here->second.size() >= limits::kStrangersPerAddressMax;
  if (full_here) return end_wait(*here->second.begin());
  if (strangers() >= limits::kStrangersMax) end_wait(*most->begin());
}

std::size_t Roster::strangers() const {
  std::size_t count = 0;
  for (const auto& [address, streams] : strangers_) count += streams.size();
  return count;
}

void Roster::end_wait(StreamId id) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end() || session->second.address) return;
  const auto stream = session->second.stream;
  leave(id);
  stream->close();
}

bool Roster::is_heard(StreamId id) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return false;
  if (session->second.address) return true;
  if (++session->second.stray_words > limits::kStrangerWordsMax) end_wait(id);
  return false;
}

core::Result<Roster::Peer*> Roster::welcome(StreamId id, const rpc::Hello& hello,
                                            std::optional<StreamId>& replaced) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end() || session->second.address) {
    return fail(ErrorCode::kFailedPrecondition, "a hello out of order");
  }
  const auto signer = crypto::recover(rpc::hello_digest(session->second.nonce, hello.address,
                                                        key_.address(), session->second.channel),
                                      hello.signature);
  if (!signer || *signer != hello.address) {
    return fail(ErrorCode::kUnauthenticated,
                "the hello is not signed by the key of {} for this gateway and connection",
                crypto::to_text(hello.address));
  }
  // Before anybody makes room for it.
  const std::string banned = bans_.why(hello.address);
  if (!banned.empty() && !must_answer(hello.address)) {
    if (turned_away_ && rpc::knows_release(hello.version)) turned_away_(hello.address, id);
    return fail(ErrorCode::kPermissionDenied, "this provider is banned: {}", banned);
  }
  const bool is_full = providers() >= static_cast<std::size_t>(limits::kProvidersMax);
  if (is_full && connected(hello.address) == nullptr && !make_room_among_new()) {
    return fail(ErrorCode::kResourceExhausted, "{} providers are connected, as many as may be",
                limits::kProvidersMax);
  }
  expected_.erase(hello.address);
  Peer& peer = peers_[hello.address];
  peer.address = hello.address;
  peer.name = hello.name.substr(0, static_cast<std::size_t>(limits::kNameBytesMax));
  peer.banned = banned;  // perhaps it is over
  if (peer.stream != nullptr) {
    replaced = peer.stream_id;
    retire(peer.stream_id);
  }
  forget_stranger(session->first, session->second.from);
  peer.in_flight = 0;  // what it had in hand went with its stream
  peer.warm.clear();
  peer.room_bytes.reset();
  peer.privacy.reset();
  peer.has_shown = !rpc::knows_statements(hello.version);
  if (peer.has_shown) peer.privacy.emplace();  // it will show none
  peer.stream = session->second.stream;
  peer.stream_id = id;
  peer.knows_batching = rpc::knows_batching(hello.version);
  peer.knows_requests = rpc::knows_requests(hello.version);
  peer.knows_release = rpc::knows_release(hello.version);
  peer.paused = hello.paused;
  peer.host.reset();
  peer.cached = {hello.cached_models.begin(), hello.cached_models.end()};
  session->second.address = hello.address;
  session->second.token = core::to_hex(rng_.next_digest());
  {
    const std::lock_guard lock(mutex_);
    grants_[session->second.token].certificate = session->second.channel.provider;
  }
  rpc::Welcome word{session->second.token};
  if (rpc::knows_prefetch(hello.version)) word.version = rpc::kVersion;
  peer.stream->send(std::move(word));
  return &peer;
}

std::size_t Roster::providers() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [](const auto& one) { return one.second.address && !one.second.is_leaving; }));
}

void Roster::retire(StreamId id) {
  Session& session = sessions_.at(id);
  session.is_leaving = true;
  session.stream->close();
}

bool Roster::make_room_among_new() {
  std::optional<StreamId> oldest;
  for (const auto& [address, peer] : peers_) {
    const bool is_new = peer.stream != nullptr && peer.served == 0;
    if (!is_new || sessions_.at(peer.stream_id).is_leaving) continue;
    if (!oldest || peer.stream_id < *oldest) oldest = peer.stream_id;
  }
  if (oldest) retire(*oldest);
  return oldest.has_value();
}

void Roster::forget_stranger(StreamId id, const std::string& from) {
  const auto here = strangers_.find(from);
  if (here == strangers_.end()) return;
  here->second.erase(id);
  if (here->second.empty()) strangers_.erase(here);
}

void Roster::refuse(StreamId id, const core::Error& reason) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  // For want of room it is not sent away for good: it dials again.
  const bool is_final = reason.code != ErrorCode::kResourceExhausted;
  if (is_final) session->second.stream->send(rpc::Dismiss{reason});
  session->second.stream->close();
}

bool Roster::end_statements_wait(StreamId id) {
  Peer* const peer = at(id);
  if (peer == nullptr || peer->privacy) return false;
  peer->privacy.emplace();
  return true;
}

void Roster::on_load(StreamId id, const rpc::Load& load, std::int64_t now_ms) {
  Peer* const peer = at(id);
  if (peer == nullptr) return;
  peer->cached = {load.cached_models.begin(), load.cached_models.end()};
  peer->room_bytes = load.room_bytes;
  if (load.queued > 0) peer->at_work_ms = now_ms;
}

void Roster::leave(StreamId id) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  forget_stranger(id, session->second.from);
  {
    const std::lock_guard lock(mutex_);
    grants_.erase(session->second.token);
  }
  if (Peer* peer = at(id)) {
    peer->stream.reset();
    peer->in_flight = 0;
    peer->paused.clear();
    peer->host.reset();
    peer->warm.clear();
    peer->privacy.reset();
    // Keys cost nothing to make: only those that have worked, or are banned, are remembered.
    if (peer->served == 0 && peer->banned.empty()) peers_.erase(peer->address);
    forget_one();
  }
  sessions_.erase(session);
}

/// Beyond so many, who is gone and has worked least; of bans there are no more than are listed.
void Roster::forget_one() {
  if (peers_.size() <= limits::kProvidersRememberedMax) return;
  auto least = peers_.end();
  for (auto peer = peers_.begin(); peer != peers_.end(); ++peer) {
    const bool is_banned = !peer->second.banned.empty() && was_banned(peer->first);
    if (peer->second.stream != nullptr || is_banned) continue;
    if (least == peers_.end() || peer->second.served < least->second.served) least = peer;
  }
  if (least != peers_.end()) peers_.erase(least);
}

Roster::Peer* Roster::at(StreamId id) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end() || !session->second.address) return nullptr;
  Peer* peer = by_address(*session->second.address);
  return peer != nullptr && peer->stream_id == id ? peer : nullptr;
}

Roster::Peer* Roster::by_address(const crypto::Address& address) {
  const auto found = peers_.find(address);
  return found == peers_.end() ? nullptr : &found->second;
}

rpc::ProviderStream* Roster::connected(const crypto::Address& address) const {
  const auto found = peers_.find(address);
  return found == peers_.end() ? nullptr : found->second.stream.get();
}

void Roster::say(StreamId id, rpc::ToProvider message) const {
  const auto session = sessions_.find(id);
  if (session != sessions_.end()) session->second.stream->send(std::move(message));
}

std::vector<Candidate> Roster::candidates(const ModelVersion& model,
                                          const std::string& privacy_class, std::uint64_t demand,
                                          const std::set<crypto::Address>& tried,
                                          std::int64_t now_ms) const {
  const std::int64_t wall_ms = clock_.wall_ms();
  std::vector<Candidate> list;
  for (const auto& [address, peer] : peers_) {
    const bool is_expected = this->is_expected(peer);
    std::string excluded = exclusion(peer, model, tried, is_expected);
    if (excluded.empty() && peer.privacy)
      excluded = why_not_shown(*peer.privacy, privacy_class, wall_ms);
    const bool is_there = excluded.empty();
    if (is_there && is_expected) excluded = "has not come back yet since this gateway started";
    const bool is_unshown = is_there && !is_expected && !peer.privacy && !privacy_class.empty();
    if (is_unshown) excluded = "has not shown its statements yet";
    if (is_there && !peer.paused.empty()) excluded = fmt::format("is paused ({})", peer.paused);
    if (is_there && peer.in_flight >= limits::kProviderJobsMax) excluded = "has enough to do";
    const bool may_come = is_there && !excluded.empty();
    const Health& health = peer.health;
    list.push_back({.address = address,
                    .name = peer.name,
                    .excluded = std::move(excluded),
                    .may_come = may_come,
                    .is_unshown = is_unshown,
                    .load_cost = peer.cached.contains(model.content) ? 0.0 : load_cost(demand),
                    .queued = peer.in_flight,
                    .busy_ms = peer.in_flight > 0 ? now_ms - peer.busy_since_ms : 0,
                    .last_turn = peer.last_turn,
                    .effort = health.effort(),
                    .is_new = health.is_new(),
                    .avoided_until_ms = health.is_avoided(now_ms) ? health.avoided_until_ms() : 0});
  }
  return list;
}

core::Result<void> Roster::ban(const crypto::Address& address, const std::string& why) {
  auto kept = bans_.add(address, why);
  Peer& peer = peers_[address];
  peer.address = address;
  peer.banned = why;
  if (!must_answer(address)) {
    dismiss(address);
  } else if (peer.stream != nullptr) {
    peer.stream->close();  // it dials again
  }
  return kept;
}

void Roster::dismiss(const crypto::Address& address) {
  const Peer& peer = peers_.at(address);
  if (peer.stream == nullptr) return;
  peer.stream->send(rpc::Dismiss{{ErrorCode::kPermissionDenied, peer.banned}});
  peer.stream->close();
}

void Roster::grant(StreamId id, const core::Digest& model) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  const auto& provider = session->second.address;
  if (granted_ && provider && !granted_(*provider, model)) return;
  const std::lock_guard lock(mutex_);
  if (const auto granted = grants_.find(session->second.token); granted != grants_.end()) {
    granted->second.models.insert(model);
  }
}

void Roster::revoke(StreamId id, const core::Digest& model) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  const std::lock_guard lock(mutex_);
  if (const auto granted = grants_.find(session->second.token); granted != grants_.end()) {
    granted->second.models.erase(model);
  }
}

core::Result<void> Roster::may_fetch(const std::string& token, const core::Digest& model,
                                     const core::Digest& provider_certificate) const {
  const std::lock_guard lock(mutex_);
  const auto granted = grants_.find(token);
  if (granted == grants_.end() || granted->second.certificate != provider_certificate) {
    return fail(ErrorCode::kUnauthenticated, "unknown session");
  }
  if (!granted->second.models.contains(model)) {
    return fail(ErrorCode::kNotFound, "no task of this session is for model {}",
                core::to_hex(model));
  }
  return {};
}

}  // namespace commensal::gateway
