// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/verify/roots.hpp>

namespace commensal::gateway {

using core::Error;
using core::ErrorCode;

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
  job.input_commitment = protocol::commit_input(verify::state_root(order.inputs), input_salt);
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

void Dispatcher::dispatch(std::unique_ptr<Request> request) {
  const Order& order = request->order;
  auto candidates = roster_.candidates(order.model, demand_[order.model.content], request->tried);
  for (Candidate& one : candidates) {
    if (one.excluded.empty()) one.excluded = lottery_.reservation(one.address);
  }
  const auto chosen = choose(candidates, order.model.name);
  if (!chosen || static_cast<int>(request->tried.size()) >= config_.tries_max) {
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
                                  .step = verify::Step(task.job, 1),
                                  .input_salt = salt});
  watch(task.id);
  roster_.grant(peer.link_id, task.model);
  peer.link->send(std::move(task));
}

void Dispatcher::watch(rpc::TaskId id) {
  loop_.after(config_.silence_ms_max, [this, id, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return;
    // Whoever is silent loses everything it has in hand: the stream is closed, and with it every
    // other task it holds comes back at once.
    if (Roster::Peer* peer = roster_.at(task->second.link)) peer->link->close();
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
  const core::Digest root = verify::state_root(message.outputs);
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
