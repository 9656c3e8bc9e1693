// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::gateway {

using core::Error;
using core::ErrorCode;

namespace {

constexpr int kMovesMax = 3;  // long work must end somewhere, even if all providers pause by turns

}  // namespace

Dispatcher::Dispatcher(core::Loop& loop, core::Rng& rng, const crypto::SecretKey& key,
                       Roster& roster, Lottery& lottery, Config config)
    : loop_(loop),
      rng_(rng),
      key_(key),
      roster_(roster),
      lottery_(lottery),
      config_(config),
      address_(key.address()) {}

void Dispatcher::submit(Order order, Done done) {
  ++demand_[order.model.content];
  auto request = std::make_unique<Request>();
  request->id = ++last_request_;
  request->order = std::move(order);
  request->done = std::move(done);
  dispatch(std::move(request));
}

protocol::Job Dispatcher::job_for(const Order& order, const crypto::Address& provider,
                                  const core::Digest& input_salt) const {
  protocol::Job job;
  job.graph_root = order.model.graph_root;
  job.weight_root = order.model.weight_root;
  job.numerics_version = kernels::kNumericsVersion;
  job.input_commitment = protocol::commit_input(receipt::state_root(order.inputs), input_salt);
  job.steps = 1;
  job.client = address_;
  job.provider = provider;
  job.noise = protocol::NoisePolicy::kNone;
  // A private model is audited by its gateway only; a public one by anybody.
  job.auditors =
      order.model.is_private ? protocol::AuditorClass::kOwnerList : protocol::AuditorClass::kPublic;
  if (order.model.is_private) job.auditor_list = {config_.auditor};
  lottery_.stamp(job);
  return job;
}

std::vector<Candidate> Dispatcher::candidates(const Request& request) const {
  const ModelVersion& model = request.order.model;
  auto list = roster_.candidates(model, demand_.at(model.content), request.tried);
  for (Candidate& one : list) {
    if (one.excluded.empty()) one.excluded = lottery_.reservation(one.address);
  }
  return list;
}

void Dispatcher::dispatch(std::unique_ptr<Request> request) {
  const Order& order = request->order;
  const auto candidates = this->candidates(*request);
  const auto chosen = choose(candidates, order.model.name);
  const bool may_try = static_cast<int>(request->tried.size()) < config_.tries_max;
  const bool may_wait = std::ranges::any_of(candidates, &Candidate::is_paused);
  if (!chosen && may_try && may_wait) return wait(std::move(request));
  if (!chosen || !may_try) {
    Error error = chosen ? request->last_error : chosen.error();
    if (!request->last_error.message.empty()) {
      error = {ErrorCode::kUnavailable,
               fmt::format("'{}' failed on {} provider(s), the last one: {}", order.model.name,
                           request->tried.size(), request->last_error.message)};
    }
    return request->done(tl::unexpected(std::move(error)));
  }
  Roster::Peer& peer = *roster_.by_address(candidates[*chosen].address);
  const core::Digest salt = rng_.next_digest();
  rpc::Task task{.id = ++last_task_,
                 .job = job_for(order, peer.address, salt),
                 .model = order.model.content,
                 .input_salt = salt,
                 .inputs = order.inputs};
  request->tried.insert(peer.address);
  ++peer.in_flight;
  tasks_.emplace(task.id, Running{.request = std::move(request),
                                  .link = peer.link_id,
                                  .pauses = peer.pauses,
                                  .step = receipt::Step(task.job, 1),
                                  .input_salt = salt});
  watch(task.id);
  roster_.grant(peer.link_id, task.model);
  peer.link->send(std::move(task));
}

/// A pause is no silence; but what is committed has no more to wait for.
bool Dispatcher::may_be_silent(const Running& task, const Roster::Peer& peer) {
  const bool is_open = task.step.phase() == receipt::Step::Phase::kOffered;
  const bool has_paused = !peer.paused.empty() || peer.pauses != task.pauses;
  return is_open && has_paused && !task.request->is_late;
}

void Dispatcher::watch(rpc::TaskId id) {
  loop_.after(config_.silence_ms_max, [this, id, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return;
    Roster::Peer* const peer = roster_.at(task->second.link);
    if (peer != nullptr && may_be_silent(task->second, *peer)) {
      task->second.pauses = peer->pauses;
      return watch(id);
    }
    // Whoever is silent loses everything it has in hand: the stream is closed, and with it every
    // other task it holds comes back at once.
    if (peer != nullptr) peer->link->close();
    lose(task, {ErrorCode::kDeadlineExceeded,
                fmt::format("no answer within {} ms", config_.silence_ms_max)});
  });
}

Dispatcher::Tasks::iterator Dispatcher::find(LinkId link, rpc::TaskId id) {
  const auto task = tasks_.find(id);
  return task != tasks_.end() && task->second.link == link ? task : tasks_.end();
}

std::unique_ptr<Dispatcher::Request> Dispatcher::take(Tasks::iterator task) {
  if (Roster::Peer* peer = roster_.at(task->second.link); peer != nullptr && peer->in_flight > 0) {
    --peer->in_flight;
  }
  auto request = std::move(task->second.request);
  tasks_.erase(task);
  return request;
}

void Dispatcher::lose(Tasks::iterator task, Error error) {
  auto request = take(task);
  request->last_error = std::move(error);
  dispatch(std::move(request));
}

void Dispatcher::on_commit(LinkId link, const rpc::Commit& message) {
  std::vector<Tasks::iterator> accepted;
  std::vector<protocol::ReceiptBody> bodies;
  for (const rpc::Commit::Item& item : message.items) {
    const auto task = find(link, item.task);
    if (task == tasks_.end()) continue;  // it came too late
    auto moved = lottery_.check_round(task->second.step.job(), item.round);
    if (moved) moved = task->second.step.commit(item.commitment, item.round, item.signature);
    if (!moved) {
      lose(task, moved.error());
      continue;
    }
    accepted.push_back(task);
    bodies.push_back(task->second.step.body());
  }
  Roster::Peer* peer = roster_.at(link);
  if (accepted.empty() || peer == nullptr) return;
  const auto signatures = protocol::sign_batch(key_, protocol::Role::kClient, bodies);
  rpc::Countersign reply;
  std::vector<protocol::Receipt> receipts;
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    const auto moved = accepted[i]->second.step.countersign(signatures[i]);
    core::check(moved.has_value(), "a gateway accepts its own signature");
    reply.items.push_back({accepted[i]->first, signatures[i]});
    receipts.push_back(accepted[i]->second.step.receipt());
  }
  if (const auto owed = lottery_.owe(receipts); !owed) {
    for (const auto& task : accepted) lose(task, owed.error());
    return;
  }
  peer->link->send(std::move(reply));
}

void Dispatcher::on_deliver(LinkId link, rpc::Deliver message) {
  const auto task = find(link, message.task);
  if (task == tasks_.end()) return;
  Running& running = task->second;
  const core::Digest root = receipt::state_root(message.outputs);
  if (auto moved = running.step.deliver(root, message.output_salt); !moved) {
    return lose(task, moved.error());
  }
  Answer answer{.receipt = running.step.receipt(),
                .input_salt = running.input_salt,
                .output_salt = message.output_salt,
                .inputs = {},
                .outputs = std::move(message.outputs)};
  if (Roster::Peer* peer = roster_.at(link)) {
    ++peer->served;
    peer->cached.insert(running.request->order.model.content);
  }
  auto request = take(task);
  answer.inputs = std::move(request->order.inputs);
  request->done(std::move(answer));
  place_next();
}

void Dispatcher::on_refuse(LinkId link, const rpc::Refuse& message) {
  const auto task = find(link, message.task);
  if (task == tasks_.end()) return;
  // What is wrong with the request is wrong with every provider.
  if (message.reason.code == ErrorCode::kInvalidArgument) {
    return take(task)->done(tl::unexpected(message.reason));
  }
  lose(task, message.reason);
}

void Dispatcher::on_pause(LinkId link) {
  std::vector<rpc::TaskId> at_hand;
  for (const auto& [id, running] : tasks_) {
    // What is committed needs no more computing.
    const bool is_open = running.step.phase() == receipt::Step::Phase::kOffered;
    if (running.link == link && is_open) at_hand.push_back(id);
  }
  rpc::Withdraw withdrawn;
  std::vector<std::unique_ptr<Request>> moved;
  std::vector<std::unique_ptr<Request>> given_up;
  for (const rpc::TaskId id : at_hand) {
    const auto task = tasks_.find(id);
    Request& request = *task->second.request;
    const bool has_other = choose(candidates(request), request.order.model.name).has_value();
    const bool may_move = has_other && request.moves < kMovesMax;
    if (!may_move && !request.is_late) {
      begin_patience(request);
      continue;
    }
    ++request.moves;
    request.tried.erase(roster_.at(link)->address);  // it did not fail
    withdrawn.tasks.push_back(id);
    (may_move ? moved : given_up).push_back(take(task));
  }
  if (!withdrawn.tasks.empty()) roster_.at(link)->link->send(std::move(withdrawn));
  for (auto& request : moved) dispatch(std::move(request));
  for (const auto& request : given_up) give_up(*request);
}

void Dispatcher::on_available() {
  std::vector<LinkId> paused;
  for (const auto& [address, peer] : roster_.peers()) {
    if (peer.link != nullptr && !peer.paused.empty()) paused.push_back(peer.link_id);
  }
  for (const LinkId link : paused) on_pause(link);
  for (auto& request : std::exchange(waiting_, {})) dispatch(std::move(request));
}

void Dispatcher::wait(std::unique_ptr<Request> request) {
  const bool is_full = waiting_.size() >= static_cast<std::size_t>(limits::kProviderQueueMax);
  if (request->is_late || is_full) return give_up(*request);
  begin_patience(*request);
  waiting_.push_back(std::move(request));
}

void Dispatcher::give_up(const Request& request) {
  const std::string& model = request.order.model.name;
  const auto place = choose(candidates(request), model);
  const std::string why =
      place ? fmt::format("the providers for '{}' pause by turns", model) : place.error().message;
  const std::string waited = fmt::format("no answer within {} ms", config_.pause_ms_max);
  request.done(core::fail(ErrorCode::kUnavailable, "{}; {}, try again later", why,
                          request.is_late ? waited : "too many requests wait"));
}

void Dispatcher::begin_patience(Request& request) {
  if (std::exchange(request.is_waiting, true)) return;
  loop_.after(config_.pause_ms_max, [this, id = request.id, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) end_patience(id);
  });
}

void Dispatcher::end_patience(RequestId id) {
  const auto is_it = [id](const auto& request) { return request->id == id; };
  if (const auto found = std::ranges::find_if(waiting_, is_it); found != waiting_.end()) {
    auto request = std::move(*found);
    waiting_.erase(found);
    request->is_late = true;
    return dispatch(std::move(request));
  }
  const auto task =
      std::ranges::find_if(tasks_, [&](const auto& item) { return is_it(item.second.request); });
  if (task == tasks_.end()) return;
  task->second.request->is_late = true;
  const Roster::Peer* const peer = roster_.at(task->second.link);
  if (peer != nullptr && !peer->paused.empty()) on_pause(peer->link_id);
}

/// One place is free: whoever waits longest is tried, and waits on behind the others if in vain.
void Dispatcher::place_next() {
  if (waiting_.empty()) return;
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  dispatch(std::move(next));
}

void Dispatcher::on_close(LinkId link) {
  std::vector<rpc::TaskId> lost;
  for (const auto& [id, running] : tasks_) {
    if (running.link == link) lost.push_back(id);
  }
  for (const rpc::TaskId id : lost) {
    if (const auto task = tasks_.find(id); task != tasks_.end()) {
      lose(task, {ErrorCode::kUnavailable, "the provider left"});
    }
  }
}

}  // namespace commensal::gateway
