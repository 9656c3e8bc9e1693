// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>

namespace commensal::gateway {

using core::Error;
using core::ErrorCode;

namespace {
constexpr int kMovedAtOnce = 4;
constexpr int kMovesMax = 3;  // long work must end somewhere, even if all providers pause by turns

auto is_of(OrderId id) {
  return [id](const auto& request) { return request->id == id; };
}
}  // namespace

Dispatcher::Dispatcher(const Dependencies& deps, Config config)
    : deps_(deps),
      config_(config),
      address_(deps.key.address()),
      leaving_([this](StreamId stream) { return deps_.steps.uncommitted(stream); }),
      prefetcher_({deps.loop, deps.clock, deps.roster, deps.lottery}) {}

OrderId Dispatcher::submit(Order order) {
  demand_for(order.model);
  auto request = std::make_unique<Request>();
  request->id = ++last_order_;
  request->order = std::move(order);
  request->bytes = receipt::element_bytes(request->order.inputs);
  request->since_ms = now_ms();
  if (!request->order.is_again) deps_.shares.on_request(request->order.account, now_ms());
  dispatch(std::move(request));
  return last_order_;
}

void Dispatcher::end(const Request& request, Error why) {
  deps_.events.push(event::Unanswered{request.id, std::move(why)});
}

std::string Dispatcher::why_not_placed(const ModelVersion& model,
                                       const std::string& privacy_class) const {
  if (const auto covered = deps_.lottery.cover(); !covered) return covered.error().message;
  const auto chosen = choose(candidates(model, privacy_class, {}), model.name);
  return chosen ? "" : chosen.error().message;
}

void Dispatcher::dispatch(RequestPtr request) {
  const auto candidates = this->candidates(*request);
  if (place(request, candidates)) return;
  const bool may_try = static_cast<int>(request->tried.size()) < config_.tries_max;
  if (may_try && may_wait(*request, candidates)) return wait(std::move(request));
  if (request->is_called_invalid) return end(*request, request->last_error);  // nobody denies it
  const std::string& model = request->order.model.name;
  if (request->last_error.message.empty()) {
    return end(*request, choose(candidates, model).error());
  }
  end(*request, {ErrorCode::kUnavailable,
                 fmt::format("'{}' failed on {} provider(s), the last one: {}", model,
                             request->tried.size(), request->last_error.message)});
}

/// Offers it to the best of these, if it may have one more try; else it stays where it is.
bool Dispatcher::place(RequestPtr& request, std::span<const Candidate> candidates) {
  if (static_cast<int>(request->tried.size()) >= config_.tries_max) return false;
  const bool explores = may_explore(*request, candidates);
  const auto chosen = choose(candidates, request->order.model.name, explores);
  if (!chosen) return false;
  request->is_trial = explores && candidates[*chosen].is_new;
  if (request->is_trial) trials_.begin();
  offer(std::move(request), *deps_.roster.by_address(candidates[*chosen].address));
  return true;
}

/// Whom nobody knows is tried where it costs little: somebody who is known has answered the model,
/// and is there.
bool Dispatcher::may_explore(const Request& request, std::span<const Candidate> candidates) const {
  return request.tried.empty() && trials_.may_begin() && usual_ms_of(request) > 0 &&
         std::ranges::any_of(candidates, is_at_hand);
}

void Dispatcher::offer(RequestPtr request, Roster::Peer& peer) {
  const Order& order = request->order;
  rollout::JobRecord record =
      record_for(order, deps_.rng.next_digest(), address_, peer.address, config_.auditor);
  if (config_.outside_auditors && order.is_public()) admit_all(record.job);
  deps_.lottery.stamp(record.job);
  const bool is_first = request->tried.empty();
  request->tried.insert(peer.address);
  request->at = peer.address;
  const double usual_ms = usual_ms_of(*request);
  request->is_long = is_long(usual_ms);
  request->ahead = peer.in_flight;
  deps_.shares.on_offer(turn_of(*request), peer.address, request->is_long);
  const auto batching = batching_of(*request);
  const auto patience = patience_ms({.usual_ms = usual_ms,
                                     .ahead = peer.in_flight,
                                     .faults = peer.health.faults_in_row(),
                                     .is_trial = request->is_trial,
                                     .is_warm = peer.warm.contains(order.model.content),
                                     .is_first = is_first,
                                     .model_bytes = order.model.bytes});
  const WorkPtr work = begin_work(deps_.key, order, std::move(record), request->id);
  work->is_late = request->is_late;
  work->batching = batching;
  running_.emplace(work->id(), std::move(request));
  deps_.steps.ask(work, peer);
  if (patience) hasten_after(work->id(), *patience + wait_ms(batching, peer));
}

Dispatcher::RequestPtr Dispatcher::take(const core::Digest& job) {
  auto found = running_.extract(job);
  if (found.empty()) return nullptr;
  Request& request = *found.mapped();
  deps_.shares.on_end(turn_of(request), request.at, request.is_long);
  if (request.is_trial) trials_.end();
  return std::move(found.mapped());
}

/// Another provider, or back with the error.
void Dispatcher::on_lost(event::StepLost& lost) {
  RequestPtr request = take(lost.work->id());
  if (!request) return;
  if (request->is_trial) trials_.on_failure();
  const crypto::Address& provider = lost.work->job().provider;
  if (lost.loss == Loss::kRefused && is_invalid(*request, provider, lost.error)) {
    end(*request, std::move(lost.error));
    return place_next();
  }
  const bool is_open = lost.loss != Loss::kBroken && lost.loss != Loss::kSilent;
  Roster::Peer* const peer = deps_.roster.by_address(provider);
  const bool says_no = lost.loss == Loss::kRefused && !request->is_called_invalid;
  // Everybody reads why, which may say something of the inputs.
  const bool is_told = says_no && request->order.is_public();
  if (is_open && peer != nullptr && counts(*request))
    peer->on_refusal(is_told ? lost.error.message : "");
  request->last_error = std::move(lost.error);
  dispatch(std::move(request));
  place_next();
}

bool Dispatcher::is_invalid(Request& request, const crypto::Address& refuser, const Error& reason) {
  Roster::Peer* const peer = deps_.roster.by_address(refuser);
  request.is_called_invalid =
      reason.code == ErrorCode::kInvalidArgument || reason.code == ErrorCode::kOverBudget;
  // Where two say so that have answered before, what is wrong is the request.
  if (request.is_called_invalid && peer != nullptr && !peer->health.is_new() &&
      ++request.called_invalid == 2) {
    peer->health.on_refusal();
    return true;
  }
  request.refused.insert(refuser);
  return false;
}

void Dispatcher::on_made(const event::StepMade& made) {
  const RequestPtr request = take(made.work->id());
  Roster::Peer* const peer = deps_.roster.at(made.trip.stream);
  if (request && peer != nullptr) count(*request, made.trip, *peer);
  place_next();
}

void Dispatcher::on_pause(StreamId stream) {
  leaving_.add(stream);
  move_soon();
}

void Dispatcher::move_soon() {
  if (!std::exchange(is_moving_, true)) move_some();
}

/// A few at once: each is held against all providers.
void Dispatcher::move_some() {
  for (int left = kMovedAtOnce; left > 0; --left) {
    if (const auto turn = leaving_.next()) move(*turn);
  }
  is_moving_ = !leaving_.empty();
  if (is_moving_) deps_.loop.post([this] { move_some(); });
}

void Dispatcher::move(const Leaving::Turn& turn) {
  const auto& [stream, job] = turn;
  Roster::Peer* const peer = deps_.roster.at(stream);
  const auto found = running_.find(job);
  const bool is_here = found != running_.end() && deps_.steps.is_uncommitted(stream, job);
  if (!is_here || peer == nullptr || peer->paused.empty()) return;  // is_here: no rollout's
  Request& request = *found->second;
  const ModelVersion& model = request.order.model;
  const auto others = candidates(model, request.order.privacy_class, request.tried);
  const bool has_other = choose(others, model.name).has_value();
  const bool may_move = has_other && request.moves < kMovesMax;
  if (!may_move && !request.is_late) return begin_patience(request);
  ++request.moves;
  request.tried.erase(request.at);  // it did not fail
  RequestPtr moved = take(job);
  deps_.steps.withdraw(job);
  // It took what it did not do, and may soon do so again.
  const auto blamed = std::exchange(peer->blamed_pause, peer->pauses);
  if (blamed != peer->pauses) peer->health.on_fault(now_ms());
  may_move ? dispatch(std::move(moved)) : give_up(*moved);
}

void Dispatcher::cancel(OrderId id) {
  const auto left = [this](const Request& request) {
    end(request, {ErrorCode::kCancelled, "nobody waits for it any more"});
  };
  if (const auto request = waiting_.take(is_of(id))) return left(**request);
  const auto found = std::ranges::find_if(running_, is_of(id), &Running::value_type::second);
  if (found == running_.end() || deps_.steps.is_committed(found->first)) return;
  const core::Digest job = found->first;
  deps_.steps.withdraw(job);
  const RequestPtr request = take(job);
  left(*request);
  keep_place(*request);
  place_next();
}

/// For as long as the job would have taken: who asks and leaves sends its provider no more than who
/// stays.
void Dispatcher::keep_place(const Request& request) {
  constexpr double kMsMax = 100;
  const auto ms = 1 + static_cast<std::int64_t>(std::min(kMsMax, usual_ms_of(request)));
  const std::string turn = turn_of(request);
  deps_.shares.on_offer(turn, request.at, request.is_long);
  deps_.loop.after(ms, [this, turn, at = request.at, is_long = request.is_long] {
    deps_.shares.on_end(turn, at, is_long);
    place_next();
  });
}

/// Once, however many have come: it looks at all providers.
void Dispatcher::on_available() {
  if (std::exchange(looks_again_, true)) return;
  deps_.loop.post([this] { look_again(); });
}

void Dispatcher::look_again() {
  looks_again_ = false;
  std::vector<StreamId> paused;
  for (const auto& [address, peer] : deps_.roster.peers()) {
    if (peer.stream && peer.in_flight > 0 && !peer.paused.empty()) paused.push_back(peer.stream_id);
  }
  for (const StreamId stream : paused) on_pause(stream);
  place_next();
}

void Dispatcher::hasten_after(const core::Digest& job, std::int64_t ms) {
  deps_.loop.after(ms, [this, job, ms] { hasten(job, ms); });
}

void Dispatcher::hasten(const core::Digest& job, std::int64_t ms) {
  const auto found = running_.find(job);
  if (found == running_.end()) return;
  const Request& request = *found->second;
  // What is signed is owed: it is on its way, or its provider will be silent. Who is only tried out
  // may bring it when somebody else has.
  const bool is_signed = deps_.steps.is_committed(job);
  if (is_signed && !request.is_trial) return;
  if (static_cast<int>(request.tried.size()) >= config_.tries_max) return;
  const auto others = candidates(request);
  Roster::Peer* const peer = deps_.roster.by_address(request.at);
  const bool is_paused = peer != nullptr && !peer->paused.empty();
  if (is_paused || std::ranges::none_of(others, is_at_hand)) return hasten_after(job, ms);
  if (is_signed) {
    deps_.steps.disown(job);
  } else {
    deps_.steps.withdraw(job);
  }
  // How long it takes may be the consumer's choice, or that of the jobs ahead.
  if (peer != nullptr && request.ahead == 0 && counts(request)) {
    request.is_trial ? peer->health.on_fault(now_ms()) : peer->health.on_slow(now_ms());
  }
  RequestPtr moved = take(job);
  if (moved->is_trial) trials_.on_failure();
  moved->is_trial = false;
  moved->last_error = {ErrorCode::kDeadlineExceeded,
                       fmt::format("no answer within {} ms, which is long for this model", ms)};
  dispatch(std::move(moved));
  place_next();
}

}  // namespace commensal::gateway
