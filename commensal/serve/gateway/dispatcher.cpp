// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/serve/gateway/ports.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::gateway {

using core::Error;
using core::ErrorCode;

namespace {

constexpr int kMovesMax = 3;  // long work must end somewhere, even if all providers pause by turns

}  // namespace

Dispatcher::Dispatcher(core::Loop& loop, const core::Clock& clock, core::Rng& rng,
                       const crypto::SecretKey& key, Roster& roster, Lottery& lottery,
                       EventQueue& events, Config config)
    : loop_(loop),
      clock_(clock),
      rng_(rng),
      key_(key),
      roster_(roster),
      lottery_(lottery),
      events_(events),
      config_(config),
      address_(key.address()) {}

OrderId Dispatcher::submit(Order order) {
  ++demand_[order.model.content].requests;
  auto request = std::make_unique<Request>();
  request->id = ++last_order_;
  request->order = std::move(order);
  dispatch(std::move(request));
  return last_order_;
}

void Dispatcher::end(const Request& request, core::Result<Answer> answer) {
  events_.push(event::Answered{request.id, std::move(answer)});
}

std::string Dispatcher::why_not_placed(const ModelVersion& model) const {
  if (const auto covered = lottery_.cover(); !covered) return covered.error().message;
  const auto chosen = choose(candidates(model, {}), model.name);
  return chosen ? "" : chosen.error().message;
}

std::vector<Candidate> Dispatcher::candidates(const ModelVersion& model,
                                              const std::set<crypto::Address>& tried) const {
  const auto demand = demand_.find(model.content);
  auto list = roster_.candidates(model, demand == demand_.end() ? 0 : demand->second.requests,
                                 tried, now_ms());
  for (Candidate& one : list) {
    if (one.excluded.empty()) one.excluded = lottery_.reservation(one.address);
  }
  return list;
}

void Dispatcher::dispatch(std::unique_ptr<Request> request) {
  const auto candidates = this->candidates(*request);
  if (place(request, candidates)) return;
  const bool may_try = static_cast<int>(request->tried.size()) < config_.tries_max;
  if (may_try && std::ranges::any_of(candidates, &Candidate::may_come)) {
    return wait(std::move(request));
  }
  if (request->is_called_invalid) {  // and nobody says otherwise
    return end(*request, tl::unexpected(request->last_error));
  }
  const std::string& model = request->order.model.name;
  if (request->last_error.message.empty()) {
    return end(*request, tl::unexpected(choose(candidates, model).error()));
  }
  end(*request,
      core::fail(ErrorCode::kUnavailable, "'{}' failed on {} provider(s), the last one: {}", model,
                 request->tried.size(), request->last_error.message));
}

/// Offers it to the best of these, if it may have one more try; else it stays where it is.
bool Dispatcher::place(std::unique_ptr<Request>& request, std::span<const Candidate> candidates) {
  if (static_cast<int>(request->tried.size()) >= config_.tries_max) return false;
  const bool explores = request->tried.empty() && explore_budget_ >= 1;
  const auto chosen = choose(candidates, request->order.model.name, explores);
  if (!chosen) return false;
  if (candidates[*chosen].is_new) explore_budget_ = std::max(0.0, explore_budget_ - 1);
  offer(std::move(request), *roster_.by_address(candidates[*chosen].address));
  return true;
}

void Dispatcher::offer(std::unique_ptr<Request> request, Roster::Peer& peer) {
  const Order& order = request->order;
  const core::Digest salt = rng_.next_digest();
  rpc::Offer offer{.job = job_for(order, salt, address_, peer.address, config_.auditor),
                   .model = order.model.content,
                   .input_salt = salt,
                   .inputs = order.inputs};
  lottery_.stamp(offer.job);
  request->tried.insert(peer.address);
  receipt::Step step(offer.job, 1);
  const core::Digest id = step.job_id();
  jobs_.emplace(id, Running{.request = std::move(request),
                            .stream = peer.stream_id,
                            .pauses = peer.pauses,
                            .step = std::move(step),
                            .input_salt = salt,
                            .since_ms = now_ms(),
                            .ahead = peer.in_flight,
                            .was_warm = peer.warm.contains(offer.model)});
  ++peer.in_flight;
  watch(id);
  roster_.grant(peer.stream_id, offer.model);
  peer.stream->send(std::move(offer));
}

/// A pause is no silence; but what is committed has no more to wait for.
bool Dispatcher::may_be_silent(const Running& task, const Roster::Peer& peer) {
  const bool is_open = task.step.phase() == receipt::Step::Phase::kOffered;
  const bool has_paused = !peer.paused.empty() || peer.pauses != task.pauses;
  return is_open && has_paused && !task.request->is_late;
}

void Dispatcher::watch(const core::Digest& id) {
  loop_.after(config_.silence_ms_max, [this, id] {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return;
    Roster::Peer* const peer = roster_.at(job->second.stream);
    if (peer != nullptr && may_be_silent(job->second, *peer)) {
      job->second.pauses = peer->pauses;
      return watch(id);
    }
    // Whoever is silent loses everything it has in hand: the stream is closed, and with it every
    // other job it holds comes back at once.
    if (peer != nullptr) peer->stream->close();
    lose(job,
         {ErrorCode::kDeadlineExceeded,
          fmt::format("no answer within {} ms", config_.silence_ms_max)},
         Fault::kProviders);
  });
}

Dispatcher::Jobs::iterator Dispatcher::find(StreamId stream, const core::Digest& id) {
  const auto job = jobs_.find(id);
  return job != jobs_.end() && job->second.stream == stream ? job : jobs_.end();
}

std::unique_ptr<Dispatcher::Request> Dispatcher::take(Jobs::iterator job) {
  if (Roster::Peer* peer = roster_.at(job->second.stream); peer != nullptr && peer->in_flight > 0) {
    --peer->in_flight;
  }
  auto request = std::move(job->second.request);
  jobs_.erase(job);
  return request;
}

/// A commitment that is not signed must not wait there for its signature.
void Dispatcher::forget(StreamId stream, const core::Digest& job) {
  if (Roster::Peer* const peer = roster_.at(stream)) peer->stream->send(rpc::Withdraw{{job}});
}

void Dispatcher::lose(Jobs::iterator job, Error error, Fault fault) {
  const crypto::Address provider = job->second.step.job().provider;
  if (Roster::Peer* const peer = roster_.by_address(provider)) {
    if (fault == Fault::kProviders) peer->health.on_fault(now_ms());
    if (fault == Fault::kOpen && is_public(*job->second.request)) peer->health.on_refusal();
  }
  auto request = take(job);
  request->last_error = std::move(error);
  dispatch(std::move(request));
  place_next();
}

void Dispatcher::lose(const core::Digest& id, const Error& error) {
  if (const auto job = jobs_.find(id); job != jobs_.end()) lose(job, error, Fault::kOpen);
}

/// What an answer says of its provider: its time against what is usual for the model, by job; none
/// of one that had to fetch the model or has paused.
void Dispatcher::count(const Running& running, Roster::Peer& peer) {
  const core::Digest& model = running.request->order.model.content;
  double slowness = 1;
  if (running.was_warm && peer.pauses == running.pauses) {
    slowness = demand_[model].usual.slowness_of(now_ms() - running.since_ms, running.ahead);
  }
  peer.warm.insert(model);
  if (!peer.health.is_new()) {
    explore_budget_ = std::min(kExploreBurst, explore_budget_ + kExploreShare);
  }
  peer.health.on_answer(slowness);
  for (const crypto::Address& refuser : running.request->refused) {  // it could be answered
    if (Roster::Peer* const other = roster_.by_address(refuser)) other->health.on_fault(now_ms());
  }
}

void Dispatcher::on_commit(StreamId stream, const rpc::Commit& message) {
  std::vector<core::Digest> accepted;  // ids: losing one job may move any other
  std::vector<protocol::ReceiptBody> bodies;
  for (const rpc::Commit::Item& item : message.items) {
    const auto job = find(stream, item.job);
    if (job == jobs_.end() || item.step != 1) continue;                     // it came too late
    if (std::ranges::find(accepted, item.job) != accepted.end()) continue;  // said twice
    receipt::Step& step = job->second.step;
    auto moved = lottery_.check_round(step.job(), item.round);
    if (moved) moved = step.commit(item.commitment, item.round, item.signature);
    if (!moved) {
      forget(stream, item.job);
      lose(job, moved.error(), Fault::kProviders);
      continue;
    }
    accepted.push_back(item.job);
    bodies.push_back(step.body());
  }
  Roster::Peer* peer = roster_.at(stream);
  if (accepted.empty() || peer == nullptr) return;
  const auto signatures = protocol::sign_batch(key_, protocol::Role::kClient, bodies);
  rpc::Countersign reply;
  std::vector<protocol::Receipt> receipts;
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    receipt::Step& step = jobs_.at(accepted[i]).step;
    const auto moved = step.countersign(signatures[i]);
    core::check(moved.has_value(), "a gateway accepts its own signature");
    reply.items.push_back({accepted[i], 1, signatures[i]});
    receipts.push_back(step.receipt());
  }
  if (const auto owed = lottery_.owe(receipts); !owed) {
    for (const core::Digest& job : accepted) {
      forget(stream, job);
      lose(job, owed.error());
    }
    return;
  }
  peer->stream->send(std::move(reply));
}

void Dispatcher::on_deliver(StreamId stream, rpc::Deliver& message) {
  const auto job = find(stream, message.job);
  if (job == jobs_.end()) return;
  Running& running = job->second;
  if (const auto fits = check_outputs(running.request->order.model, message.outputs); !fits) {
    return lose(job, fits.error(), Fault::kProviders);
  }
  const core::Digest root = receipt::state_root(message.outputs);
  if (auto moved = running.step.deliver(root, message.output_salt); !moved) {
    return lose(job, moved.error(), Fault::kProviders);
  }
  Answer answer;
  answer.receipt = running.step.receipt();
  answer.opening.task.job = running.step.job();
  answer.opening.task.input_salt = running.input_salt;
  answer.opening.output_salt = message.output_salt;
  answer.opening.outputs = std::move(message.outputs);
  if (Roster::Peer* peer = roster_.at(stream)) {
    ++peer->served;
    if (is_public(*running.request)) count(running, *peer);
    peer->cached.insert(running.request->order.model.content);
  }
  const auto request = take(job);
  answer.opening.task.inputs = std::move(request->order.inputs);
  end(*request, std::move(answer));
  place_next();
}

void Dispatcher::on_refuse(StreamId stream, const rpc::Refuse& message) {
  const auto job = find(stream, message.job);
  if (job == jobs_.end()) return;
  Request& request = *job->second.request;
  const crypto::Address provider = job->second.step.job().provider;
  Roster::Peer* const peer = roster_.by_address(provider);
  request.is_called_invalid = message.reason.code == ErrorCode::kInvalidArgument;
  // Where two say so that have answered before, what is wrong is the request.
  if (request.is_called_invalid && peer != nullptr && !peer->health.is_new() &&
      ++request.called_invalid == 2) {
    peer->health.on_refusal();
    end(*take(job), tl::unexpected(message.reason));
    return place_next();
  }
  request.refused.insert(provider);
  lose(job, message.reason, Fault::kOpen);
}

void Dispatcher::on_pause(StreamId stream) {
  std::vector<core::Digest> at_hand;
  for (const auto& [id, running] : jobs_) {
    // What is committed needs no more computing.
    const bool is_open = running.step.phase() == receipt::Step::Phase::kOffered;
    if (running.stream == stream && is_open) at_hand.push_back(id);
  }
  rpc::Withdraw withdrawn;
  std::vector<std::unique_ptr<Request>> moved;
  std::vector<std::unique_ptr<Request>> given_up;
  for (const core::Digest& id : at_hand) {
    const auto job = jobs_.find(id);
    Request& request = *job->second.request;
    const bool has_other = choose(candidates(request), request.order.model.name).has_value();
    const bool may_move = has_other && request.moves < kMovesMax;
    if (!may_move && !request.is_late) {
      begin_patience(request);
      continue;
    }
    ++request.moves;
    request.tried.erase(roster_.at(stream)->address);  // it did not fail
    withdrawn.jobs.push_back(id);
    (may_move ? moved : given_up).push_back(take(job));
  }
  if (!withdrawn.jobs.empty()) {
    Roster::Peer& peer = *roster_.at(stream);
    peer.stream->send(std::move(withdrawn));
    peer.health.on_fault(now_ms());  // it took what it did not do, and may soon do so again
  }
  for (auto& request : moved) dispatch(std::move(request));
  for (const auto& request : given_up) give_up(*request);
}

void Dispatcher::on_available() {
  std::vector<StreamId> paused;
  for (const auto& [address, peer] : roster_.peers()) {
    if (peer.stream != nullptr && !peer.paused.empty()) paused.push_back(peer.stream_id);
  }
  for (const StreamId stream : paused) on_pause(stream);
  place_next();
}

void Dispatcher::wait(std::unique_ptr<Request> request) {
  const std::string account = request->order.account;
  const bool is_full = waiting_.size() >= limits::kRequestsWaitingMax ||
                       waiting_.size_of(account) >= limits::kAccountRequestsWaitingMax;
  if (request->is_late || is_full) return give_up(*request);
  begin_patience(*request);
  waiting_.push(account, std::move(request));
}

void Dispatcher::give_up(const Request& request) {
  const std::string& model = request.order.model.name;
  const auto place = choose(candidates(request), model);
  const std::string why =
      place ? fmt::format("the providers for '{}' pause by turns", model) : place.error().message;
  const std::string waited = fmt::format("no answer within {} ms", config_.pause_ms_max);
  const ErrorCode code = request.is_late ? ErrorCode::kUnavailable : ErrorCode::kResourceExhausted;
  end(request, core::fail(code, "{}; {}, try again later", why,
                          request.is_late ? waited : "too many requests wait"));
}

void Dispatcher::begin_patience(Request& request) {
  if (std::exchange(request.is_waiting, true)) return;
  loop_.after(config_.pause_ms_max, [this, id = request.id] { end_patience(id); });
}

void Dispatcher::end_patience(OrderId id) {
  const auto is_it = [id](const auto& request) { return request->id == id; };
  if (auto request = waiting_.take(is_it)) {
    (*request)->is_late = true;
    return dispatch(*std::move(request));
  }
  const auto job =
      std::ranges::find_if(jobs_, [&](const auto& item) { return is_it(item.second.request); });
  if (job == jobs_.end()) return;
  job->second.request->is_late = true;
  const Roster::Peer* const peer = roster_.at(job->second.stream);
  if (peer != nullptr && !peer->paused.empty()) on_pause(peer->stream_id);
}

void Dispatcher::place_next() {
  turns_left_ = waiting_.accounts();
  if (!is_placing_) place_some();
}

/// The loop goes on between a few in vain and the next.
void Dispatcher::place_some() {
  constexpr int kInVainMax = 4;
  is_placing_ = false;
  for (int in_vain = 0; turns_left_ > 0 && waiting_.accounts() > 0;) {
    if (in_vain == kInVainMax) {
      is_placing_ = true;
      return loop_.post([this] { place_some(); });
    }
    auto request = *waiting_.pop();
    const auto candidates = this->candidates(*request);
    if (place(request, candidates)) continue;
    --turns_left_;
    if (std::ranges::none_of(candidates, &Candidate::may_come)) {
      dispatch(std::move(request));  // to its end
    } else {
      const std::string account = request->order.account;
      waiting_.put_back(account, std::move(request));
      ++in_vain;
    }
  }
}

void Dispatcher::on_close(StreamId stream) {
  std::vector<core::Digest> lost;
  for (const auto& [id, running] : jobs_) {
    if (running.stream == stream) lost.push_back(id);
  }
  for (const core::Digest& id : lost) lose(id, {ErrorCode::kUnavailable, "the provider left"});
  place_next();
}

}  // namespace commensal::gateway
