// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/serve/gateway/steps.hpp>
#include <commensal/verify/receipt/opening.hpp>

namespace commensal::gateway {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

/// Its request's name, for a provider that takes it.
std::optional<rpc::RequestName> name_for(const Roster::Peer& peer, const Work& work) {
  const bool is_told = peer.knows_requests && work.journey && !work.journey->name.id.empty();
  return is_told ? std::optional(work.journey->name) : std::nullopt;
}

std::optional<rpc::Batching> batching_for(const Roster::Peer& peer, const Work& work,
                                          bool is_named) {
  if (peer.knows_batching && work.batching) return work.batching;
  return is_named ? std::optional(rpc::Batching::any()) : std::nullopt;
}

/// Whether anything is before it may be said: its ticket, or what is kept of its job.
bool is_written(const protocol::Receipt& receipt) {
  return receipt.round != protocol::kNoDraw || receipt.job.traits().is_kept;
}

/// Who has just signed need not recover its own key from that.
void know_own(protocol::KnownSignatures& known, const crypto::Address& signer,
              const protocol::BatchSignature& signature, const protocol::ReceiptBody& body) {
  const auto root = crypto::merkle_root_of_proof(crypto::leaf_hash(protocol::encode(body)),
                                                 signature.index, signature.count, signature.path);
  core::check(root.has_value(), "a proof that was just made");
  known.add(signature, protocol::Role::kClient, *root, signer, protocol::kEmbeddedLedger);
}

}  // namespace

void Steps::ask(const WorkPtr& work, Roster::Peer& peer) {
  rollout::ClientJob& client = work->client;
  const std::uint64_t number = ++asked_;
  const auto pending = client.pending();
  const auto [at, is_new] =
      running_.emplace(work->id(), Running{.work = work,
                                           .trip = {.stream = peer.stream_id,
                                                    .pauses = peer.pauses,
                                                    .since_ms = now_ms(),
                                                    .ahead = peer.in_flight,
                                                    .was_warm = peer.warm.contains(work->content)},
                                           .number = number,
                                           .is_committed = pending.has_value(),
                                           .heard_ms = now_ms(),
                                           .heard_ns = deps_.clock.monotonic_ns()});
  core::check(is_new, "a job has one step at a time");
  peer.last_turn = number;
  if (peer.in_flight++ == 0) peer.busy_since_ms = now_ms();
  watch(work->id(), number, silence_ms_max_);
  if (work->journey) work->journey->on_offer(peer.address, deps_.clock.monotonic_ns());
  if (pending) {
    return deps_.store.when_durable(
        [this, job = work->id(), number, item = *pending](const Result<void>& kept) {
          on_countersigned({{job, number, {}}}, {item}, kept);
        });
  }
  const auto begin = client.begin();
  core::check(begin.has_value(), "a job that is asked for has a step left");
  if (std::exchange(work->offered_on, peer.stream_id) == peer.stream_id) {
    return peer.stream->send(*begin);
  }
  deps_.roster.grant(peer.stream_id, work->content);
  const rollout::JobRecord& record = client.record();
  auto name = name_for(peer, *work);
  auto batching = batching_for(peer, *work, name.has_value());
  peer.stream->send(rpc::Offer{record.job, work->content, record.input_salt, record.inputs,
                               begin->step, begin->value, static_cast<std::uint64_t>(ops_max_),
                               std::move(batching), std::move(name)});
}

std::vector<core::Digest> Steps::uncommitted(StreamId stream) const {
  std::vector<core::Digest> found;
  for (const auto& [job, running] : running_) {
    if (is_uncommitted(stream, job)) found.push_back(job);
  }
  return found;
}

bool Steps::is_uncommitted(StreamId stream, const core::Digest& job) const {
  const auto found = running_.find(job);
  return found != running_.end() && found->second.trip.stream == stream &&
         !found->second.is_committed;
}

Steps::Running* Steps::find(StreamId stream, const core::Digest& job) {
  const auto found = running_.find(job);
  return found != running_.end() && found->second.trip.stream == stream ? &found->second : nullptr;
}

Steps::Running Steps::take(const core::Digest& job) {
  const auto found = running_.find(job);
  Running running = std::move(found->second);
  running_.erase(found);
  if (running.is_signed) --awaited_;
  Roster::Peer* const peer = deps_.roster.at(running.trip.stream);
  if (peer != nullptr && peer->in_flight > 0) {
    --peer->in_flight;
    peer->busy_since_ms = now_ms();
  }
  return running;
}

void Steps::lose(const core::Digest& job, Loss loss, Error error, bool is_state_refused) {
  Running running = take(job);
  running.work->offered_on = 0;  // it may be at hand there no longer
  if (loss == Loss::kBroken || loss == Loss::kSilent) {
    Roster::Peer* const peer = deps_.roster.by_address(running.work->job().provider);
    if (peer != nullptr) peer->health.on_fault(now_ms());
  }
  deps_.events.push(
      event::StepLost{std::move(running.work), loss, std::move(error), is_state_refused});
}

std::optional<Steps::StreamId> Steps::end_patience(const core::Digest& job) {
  const auto found = running_.find(job);
  if (found == running_.end()) return std::nullopt;
  found->second.work->is_late = true;
  const Roster::Peer* const peer = deps_.roster.at(found->second.trip.stream);
  if (peer == nullptr || peer->paused.empty()) return std::nullopt;
  return peer->stream_id;
}

bool Steps::withdraw(const core::Digest& job) {
  if (!running_.contains(job)) return false;
  Roster::Peer* const peer = deps_.roster.at(take(job).trip.stream);
  if (peer != nullptr) peer->stream->send(rpc::Withdraw{{job}});
  return true;
}

void Steps::disown(const core::Digest& job) {
  Work& work = *running_.at(job).work;
  work.order = kNobodysOrder;
  work.is_charged = false;
}

/// A pause is no silence; but what is committed to has no more to wait for.
bool Steps::may_be_silent(const Running& running, const Roster::Peer& peer) {
  const bool has_paused = !peer.paused.empty() || peer.pauses != running.trip.pauses;
  return !running.is_committed && has_paused && !running.work->is_late;
}

/// Who says that it is at work is not silent: it fetches the model, say, or has much to compute.
std::int64_t Steps::silent_since_ms(const Running& running, const Roster::Peer& peer) const {
  const std::int64_t ms_max = peer.health.is_new() ? 10 * silence_ms_max_ : limits::kAtWorkMsMax;
  const bool counts = !running.is_committed && now_ms() - running.trip.since_ms < ms_max;
  return counts ? std::max(running.heard_ms, peer.at_work_ms) : running.heard_ms;
}

std::string Steps::waited_for(const Running& running) {
  const Work& work = *running.work;
  const char* const what = running.is_committed    ? "the delivery of"
                           : running.trip.was_warm ? "the computing of"
                                                   : "the fetching of the model and";
  return fmt::format("{} step {} of '{}'", what, work.client.last().step.index() + 1, work.model);
}

void Steps::watch(const core::Digest& job, std::uint64_t number, std::int64_t wait_ms) {
  deps_.loop.after(wait_ms, [this, job, number] {
    const auto found = running_.find(job);
    if (found == running_.end() || found->second.number != number) return;
    Roster::Peer* const peer = deps_.roster.at(found->second.trip.stream);
    const Running& running = found->second;
    if (running.is_committed && !running.is_signed) {  // what it waits for is our own disk
      return watch(job, number, silence_ms_max_);
    }
    if (peer != nullptr && may_be_silent(running, *peer)) {
      found->second.trip.pauses = peer->pauses;
      return watch(job, number, silence_ms_max_);
    }
    if (peer != nullptr) {
      const std::int64_t silent_ms = now_ms() - silent_since_ms(running, *peer);
      if (silent_ms < silence_ms_max_) return watch(job, number, silence_ms_max_ - silent_ms);
    }
    // Whoever is silent loses everything it has in hand: the stream is closed, and with it every
    // other job it holds comes back at once.
    if (peer != nullptr) peer->stream->close();
    lose(job, Loss::kSilent,
         {ErrorCode::kDeadlineExceeded, fmt::format("no word within {} ms, while {} was waited for",
                                                    silence_ms_max_, waited_for(running))});
  });
}

/// Without a round it earns nothing: where nobody else can take the job over, that is its
/// provider's affair.
Loss Steps::loss_of_round(const protocol::Job& job) {
  return job.traits().is_movable ? Loss::kBroken : Loss::kOurs;
}

Result<void> Steps::check_round(const protocol::Job& job, std::uint64_t round) const {
  const bool may_forgo = round == protocol::kNoDraw && !job.traits().is_movable;
  return may_forgo ? Result<void>() : deps_.lottery.check_round(job, round);
}

void Steps::on_commit(StreamId stream, const rpc::Commit& message) {
  for (std::size_t i = 0; i < message.items.size(); ++i) {
    const rpc::Commit::Item& item = message.items[i];
    Running* const running = find(stream, item.job);
    if (running == nullptr || running->is_committed) continue;  // it came too late, or twice
    const protocol::Job& job = running->work->job();
    const auto fits = check_round(job, item.round);
    const auto body = fits.and_then([&] { return running->work->client.commit(item, &known_); });
    if (body) {
      running->is_committed = true;
      running->heard_ms = now_ms();
      if (const JourneyPtr& journey = running->work->journey)
        journey->on_commit(message, i, deps_.clock.monotonic_ns());
      running->trip.commit_ms = ms_since(running->heard_ns);
      committed_.push_back({item.job, running->number, *body});
      if (committed_.size() == 1) deps_.loop.post([this] { countersign(); });
      continue;
    }
    turn_down(item.job, fits ? Loss::kBroken : loss_of_round(job), body.error());
  }
}

/// A commitment that is not signed must not wait there for its signature.
void Steps::turn_down(const core::Digest& job, Loss loss, Error error) {
  Roster::Peer* const peer = deps_.roster.at(running_.at(job).trip.stream);
  if (peer != nullptr) peer->stream->send(rpc::Withdraw{{job}});
  lose(job, loss, std::move(error));
}

/// Of what came meanwhile, whoever sent it, what is still at hand, and of a round that is still
/// open: what does not fit costs the others nothing.
std::vector<Steps::Committed> Steps::take_committed() {
  constexpr std::size_t kAtOnce = 64;
  std::vector<Committed> batch = std::exchange(committed_, {});
  if (batch.size() > kAtOnce) {
    committed_.assign(batch.begin() + kAtOnce, batch.end());
    batch.resize(kAtOnce);
    deps_.loop.post([this] { countersign(); });
  }
  std::erase_if(batch, [this](const Committed& one) {
    const auto found = running_.find(one.job);
    if (found == running_.end() || found->second.number != one.number) return true;
    const protocol::Job& job = found->second.work->job();
    const auto fits = check_round(job, one.body.round);
    if (!fits) turn_down(one.job, loss_of_round(job), fits.error());
    return !fits;
  });
  return batch;
}

void Steps::countersign() {
  std::vector<Committed> batch = take_committed();
  if (batch.empty()) return;
  std::vector<protocol::ReceiptBody> bodies;
  for (const Committed& one : batch) bodies.push_back(one.body);
  const auto signatures = protocol::sign_batch(deps_.key, protocol::Role::kClient, bodies);
  know_own(known_, deps_.key.address(), signatures[0], bodies[0]);
  std::vector<protocol::Receipt> receipts;
  std::vector<rpc::Countersign::Item> items;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Work& work = *running_.at(batch[i].job).work;
    receipts.push_back(work.client.countersign(signatures[i], &known_));
    items.push_back({batch[i].job, bodies[i].step, signatures[i]});
  }
  const auto keep = [&]() -> Result<void> {
    COMMENSAL_TRY(deps_.lottery.owe(receipts));
    for (const Committed& one : batch) {
      COMMENSAL_TRY(running_.at(one.job).work->client.keep_signature());
    }
    return {};
  };
  if (std::ranges::none_of(receipts, is_written)) return on_countersigned(batch, items, keep());
  deps_.store.together_later(deps_.loop, keep, [this, batch, items](const Result<void>& kept) {
    on_countersigned(batch, items, kept);
  });
}

/// Some may have been lost while this was written.
void Steps::on_countersigned(const std::vector<Committed>& batch,
                             const std::vector<rpc::Countersign::Item>& items,
                             const Result<void>& kept) {
  std::map<StreamId, rpc::Countersign> replies;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto found = running_.find(batch[i].job);
    if (found == running_.end() || found->second.number != batch[i].number) continue;
    if (!kept) {
      turn_down(batch[i].job, Loss::kOurs, kept.error());
      continue;
    }
    Running& running = found->second;
    running.is_signed = true;
    running.heard_ms = now_ms();
    running.heard_ns = deps_.clock.monotonic_ns();
    ++awaited_;
    replies[running.trip.stream].items.push_back(items[i]);
  }
  for (auto& [stream, reply] : replies) {
    Roster::Peer* const peer = deps_.roster.at(stream);
    if (peer != nullptr) peer->stream->send(std::move(reply));
  }
}

void Steps::on_deliver(StreamId stream, const rpc::Deliver& message) {
  Running* const running = find(stream, message.job);
  if (running == nullptr) return;
  const double deliver_ms = ms_since(running->heard_ns);  // it takes long to look at what is large
  auto delivery = running->work->client.check(message);
  if (!delivery) return lose(message.job, Loss::kBroken, delivery.error());
  if (const auto allowed = running->work->client.check_state(*delivery); !allowed)
    return lose(message.job, Loss::kBroken, allowed.error(), true);
  Running made = take(message.job);
  made.trip.deliver_ms = deliver_ms;
  made.trip.bytes = receipt::element_bytes(message.outputs);
  if (Roster::Peer* const peer = deps_.roster.at(stream)) {
    ++peer->served;
    peer->cached.insert(made.work->content);
    made.trip.took_ms = now_ms() - made.trip.since_ms;
    made.trip.has_paused = peer->pauses != made.trip.pauses;
  }
  deps_.events.push(event::StepMade{std::move(made.work), *std::move(delivery), made.trip});
}

void Steps::on_refuse(StreamId stream, const rpc::Refuse& message) {
  if (find(stream, message.job) != nullptr) lose(message.job, Loss::kRefused, message.reason);
}

void Steps::on_close(StreamId stream) {
  std::vector<core::Digest> lost;
  for (const auto& [id, running] : running_) {
    if (running.trip.stream == stream) lost.push_back(id);
  }
  for (const core::Digest& id : lost) {
    lose(id, Loss::kLeft, {ErrorCode::kUnavailable, "the provider left"});
  }
}

}  // namespace commensal::gateway
