// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/serve/provider/provider_state.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::fail;

core::Result<void> Provider::State::accept(const rpc::Task& task) const {
  if (status.link == LinkState::kDismissed) {
    return fail(ErrorCode::kFailedPrecondition, "no work for this gateway: {}",
                status.link_message);
  }
  if (task.job.provider != address) {
    return fail(ErrorCode::kFailedPrecondition, "the job names another provider, {}",
                crypto::to_text(task.job.provider));
  }
  if (task.job.steps != 1 || task.job.noise != protocol::NoisePolicy::kNone ||
      task.job.states != protocol::StateRule::kAny || !task.job.feeds.empty()) {
    return fail(ErrorCode::kUnsupported,
                "expected a job of one step without noise, rule of states and feeds");
  }
  COMMENSAL_TRY(purse.accept(task.job));
  if (status.queued >= static_cast<std::uint32_t>(limits::kProviderQueueMax)) {
    return fail(ErrorCode::kResourceExhausted, "the provider's queue is full ({})", status.queued);
  }
  if (!retention.room_for(2 * bytes_of(task.inputs))) {
    return fail(ErrorCode::kResourceExhausted, "the provider's retention is full");
  }
  return {};
}

void Provider::State::handle(Provider& self, rpc::Task task) {
  if (const auto accepted = accept(task); !accepted) return refuse(task.id, accepted.error());
  ++status.queued;
  const auto job = std::make_shared<QueuedTask>();
  job->task = std::move(task);
  under_way[job->task.id] = job;
  queue.add(job);
  world.loop.offload([this, keep = self.shared_from_this(), job, token = session_token,
                      path = cache.path_of(job->task.model)] { queue.finish(job, token, path); },
                     [this, &self, keep = self.shared_from_this(), job] {
                       --status.queued;
                       cache.touch(job->task.model);
                       if (!job->is_withdrawn) {
                         under_way.erase(job->task.id);
                         finish(self, std::move(job->task), std::move(job->answer));
                       } else if (!ready.empty()) {
                         plan_flush(self);
                       }
                     });
}

void Provider::State::handle(Provider&, const rpc::Withdraw& message) {
  for (const rpc::TaskId task : message.tasks) {
    if (const auto found = under_way.find(task); found != under_way.end()) {
      found->second->is_withdrawn = true;
      under_way.erase(found);
    }
    ready.erase(task);
    committed.erase(task);
  }
}

void Provider::State::finish(Provider& self, rpc::Task task, core::Result<Answer> answer) {
  report_load();
  if (!answer) {
    refuse(task.id, answer.error());
    if (!ready.empty()) plan_flush(self);
    return;
  }
  Computed done{.step = receipt::Step(std::move(task.job), 1),
                .model = task.model,
                .input_salt = task.input_salt,
                .output_salt = world.rng.next_digest(),
                .output_root = {},
                .commitment = {},
                .inputs = std::move(task.inputs),
                .outputs = std::move(answer->outputs)};
  done.output_root = answer->output_root;
  done.commitment =
      protocol::commit_step(done.step.job_id(), 1, answer->output_root, done.output_salt);
  ready.insert_or_assign(task.id, std::move(done));
  plan_flush(self);
}

/// Answers wait for each other as long as more tasks are ahead of us than answers wait, so that one
/// signature and one write serve many; the worker has enough to do meanwhile. Who sends one task at
/// a time never waits.
void Provider::State::plan_flush(Provider& self) {
  if (flush_is_due) return;
  if (ready.size() >= status.queued) {
    flush_is_due = true;
    world.loop.post([this, keep = self.shared_from_this()] { flush(); });
  } else if (ready.size() == 1) {
    world.loop.after(config.commit_wait_ms_max,
                     [this, keep = self.shared_from_this(), planned = flushes] {
                       if (planned == flushes) flush();
                     });
  }
}

// All answers that are ready share one signature and one durable write.
void Provider::State::flush() {
  flush_is_due = false;
  if (ready.empty()) return;
  ++flushes;
  std::vector<protocol::ReceiptBody> bodies;
  for (const auto& [id, task] : ready) {
    const std::uint64_t round = purse.round_for(task.step.job());
    bodies.push_back({task.step.job_id(), 1, task.commitment, round});
  }
  const auto signatures = protocol::sign_batch(world.key, protocol::Role::kProvider, bodies);
  if (const auto kept = keep(bodies, signatures); !kept) {
    for (const auto& [id, task] : ready) refuse(id, kept.error());
    ready.clear();
    return;
  }
  rpc::Commit commit;
  std::size_t i = 0;
  for (auto& [id, task] : ready) {
    commit.items.push_back({id, task.commitment, bodies[i].round, signatures[i]});
    task.step.commit_own(task.commitment, bodies[i].round, signatures[i]);
    committed.insert_or_assign(id, std::move(task));
    ++i;
  }
  ready.clear();
  world.gateway.send(std::move(commit));
}

/// What we may have to show, and the tickets that it earns.
core::Result<void> Provider::State::keep(std::span<const protocol::ReceiptBody> bodies,
                                         std::span<const protocol::BatchSignature> signatures) {
  std::vector<Retention::Record> records;
  std::vector<ticket::NewTicket> tickets;
  for (const auto& [id, task] : ready) {
    const std::size_t i = records.size();
    records.push_back({bodies[i], opening_of(task)});
    protocol::Receipt receipt;
    receipt.job = task.step.job();
    receipt.step = 1;
    receipt.commitment = task.commitment;
    receipt.round = bodies[i].round;
    receipt.provider = signatures[i];
    tickets.push_back({std::move(receipt), task.output_root, task.output_salt});
  }
  return store.together([&]() -> core::Result<void> {
    COMMENSAL_TRY(retention.keep(std::move(records)));
    return purse.commit(tickets);
  });
}

void Provider::State::handle(Provider&, rpc::Countersign message) {
  std::vector<protocol::Receipt> receipts;
  std::vector<rpc::Deliver> deliveries;
  for (const rpc::Countersign::Item& item : message.items) {
    const auto found = committed.find(item.task);
    // Not ours, or not the client's signature: nothing is owed and nothing is shown.
    if (found == committed.end() || !found->second.step.countersign(item.signature, &known))
      continue;
    receipts.push_back(found->second.step.receipt());
    deliveries.push_back({item.task, found->second.output_salt, std::move(found->second.outputs)});
    committed.erase(found);
  }
  const auto saved = store.together([&]() -> core::Result<void> {
    COMMENSAL_TRY(retention.countersigned(receipts));
    return purse.countersign(receipts);
  });
  if (!saved) {
    for (const rpc::Deliver& delivery : deliveries) refuse(delivery.task, saved.error());
    return;
  }
  status.delivered += deliveries.size();
  for (rpc::Deliver& delivery : deliveries) world.gateway.send(std::move(delivery));
}

void Provider::State::handle(Provider&, rpc::OpenRequest message) {
  rpc::OpenReply reply{message.receipt, std::nullopt};
  if (auto found = retention.find(message.receipt)) reply.opening = *std::move(found);
  world.gateway.send(std::move(reply));
}

void Provider::State::refuse(rpc::TaskId task, core::Error reason) {
  ++status.refused;
  world.gateway.send(rpc::Refuse{task, std::move(reason)});
}

void Provider::State::report_load() {
  world.gateway.send(rpc::Load{status.queued, cache.models()});
}

Provider::Provider(std::unique_ptr<State> state) : state_(std::move(state)) {}
Provider::~Provider() = default;

core::Result<std::shared_ptr<Provider>> Provider::create(const ProviderWorld& world,
                                                         const ProviderConfig& config) {
  COMMENSAL_ASSIGN(auto cache, ModelCache::open(config.folder / "models", config.cache_bytes_max));
  auto state = std::make_unique<State>(world, config, std::move(cache));
  COMMENSAL_TRY(state->retention.open());
  COMMENSAL_TRY(state->purse.open());
  COMMENSAL_TRY(state->chains.open());
  return std::shared_ptr<Provider>(new Provider(std::move(state)));
}

void Provider::start() {
  state_->stopped = false;
  state_->connect(*this);
}

void Provider::stop() { state_->stopped = true; }

ProviderStatus Provider::status() const {
  ProviderStatus status = state_->status;
  status.tickets = state_->purse.tickets().totals();
  status.balance = state_->purse.balance();
  status.paused = state_->host.paused();
  return status;
}
crypto::Address Provider::address() const { return state_->address; }

void Provider::on_message(rpc::ToProvider message) {
  std::visit([this](auto&& word) { state_->handle(*this, std::move(word)); }, std::move(message));
}

void Provider::on_close(core::Error reason) {
  if (state_->status.link == LinkState::kDismissed) return;
  state_->status.link = LinkState::kConnecting;
  state_->status.link_message = std::move(reason.message);
  if (state_->stopped) return;
  const std::int64_t delay_ms = state_->reconnect_ms;
  state_->reconnect_ms = std::min(delay_ms * 2, state_->config.reconnect_ms_max);
  state_->world.loop.after(delay_ms, [self = shared_from_this()] {
    if (!self->state_->stopped) self->state_->connect(*self);
  });
}

}  // namespace commensal::provider
