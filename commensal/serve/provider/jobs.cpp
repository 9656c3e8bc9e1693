// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/serve/provider/jobs.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::fail;
using core::Result;

Jobs::Jobs(const Dependencies& deps, const Config& config)
    : deps_(deps),
      config_(config),
      worker_(
          std::make_shared<Worker>(deps.engines, deps.gateway, deps.key.address(), config.at_once)),
      serial_({deps.rng, deps.store, deps.key, deps.purse, config.serial_kept_max}) {}

void Jobs::on_connect() {
  ++stream_;
  closed_.clear();
  for (const auto& [id, task] : tasks_) task->is_withdrawn = true;
  tasks_.clear();
  ready_.clear();
  unsigned_.clear();
}

void Jobs::refuse(const core::Digest& id, core::Error reason) {
  ++counts_.refused;
  deps_.gateway.send(rpc::Refuse{id, std::move(reason)});
}

void Jobs::report_load() { deps_.gateway.send(rpc::Load{counts_.at_work, deps_.cache.models()}); }

/// `done` only if we are still there.
void Jobs::offload(std::function<void()> work, std::function<void()> done) {
  ++counts_.at_work;
  deps_.loop.offload(std::move(work), [weak = weak_from_this(), done = std::move(done)] {
    const auto self = weak.lock();
    if (!self) return;
    --self->counts_.at_work;
    done();
  });
}

// From the offer to the answer.

Result<void> Jobs::accept(const protocol::Job& job) const {
  if (!closed_.empty()) {
    return fail(ErrorCode::kFailedPrecondition, "no work for this gateway: {}", closed_);
  }
  COMMENSAL_TRY(deps_.purse.accept(job));
  const std::size_t at_hand = queued_ + ready_.size() + unsigned_.size();
  if (!job.is_serial() && at_hand >= static_cast<std::size_t>(limits::kProviderQueueMax)) {
    return fail(ErrorCode::kResourceExhausted, "the provider's queue is full ({})", at_hand);
  }
  return {};
}

/// Of a single step nothing is said twice on one stream; a serial job is Ready again.
bool Jobs::is_repeated(const core::Digest& id) {
  if (const auto live = serial_.find(id)) {
    if (live->is_busy) {
      live->is_asked_again = true;
    } else {
      deps_.gateway.send(rpc::Ready{id});
    }
    return true;
  }
  return tasks_.contains(id) || unsigned_.contains(id) ||
         std::ranges::any_of(ready_, [&](const auto& one) { return one.step.job_id() == id; });
}

void Jobs::handle(rpc::Offer message) {
  const core::Digest id = protocol::job_id(message.job);
  if (closed_.empty() && is_repeated(id)) return;
  auto accepted = accept(message.job);
  if (message.job.is_serial()) {
    if (accepted) accepted = serial_.take_up(id).map([](const auto&) {});
    // What was begun may go on later: the gateway has yet to draw a round, say.
    if (!accepted && (!closed_.empty() || serial_.is_known(id))) {
      accepted = fail(ErrorCode::kUnavailable, "{}", accepted.error().message);
    }
  }
  if (!accepted) return refuse(id, accepted.error());
  const auto task = std::make_shared<Task>();
  task->id = id;
  task->offer = std::move(message);
  if (!task->offer.job.is_serial()) {
    ++queued_;
    tasks_[id] = task;
    worker_->add(task);
  }
  compute(task);
}

void Jobs::compute(const TaskPtr& task) {
  Worker::Place place{session_token_, deps_.cache.path_of(task->offer.model)};
  offload([worker = worker_, task, place = std::move(place)] { worker->finish(task, place); },
          [this, task, stream = stream_] {
            deps_.cache.touch(task->offer.model);
            if (task->offer.job.is_serial()) {
              make_ready(*task, stream);
            } else {
              computed(*task);
            }
          });
}

void Jobs::make_ready(Task& task, std::uint64_t stream) {
  const auto live = serial_.find(task.id);
  const auto begun = task.answer.and_then(
      [&](const Answer& answer) { return serial_.begin(*live, task.offer, answer.engine); });
  if (!begun) {
    serial_.drop(task.id);
    return refuse(task.id, begun.error());
  }
  live->is_asked_again |= stream == stream_;
  report_load();
  set_free(*live);
}

void Jobs::set_free(SerialJobs::Live& live) {
  live.is_busy = false;
  if (std::exchange(live.is_asked_again, false)) deps_.gateway.send(rpc::Ready{live.id});
}

void Jobs::computed(Task& task) {
  --queued_;
  if (!task.is_withdrawn) {
    tasks_.erase(task.id);
    report_load();
    if (task.answer) {
      Computed done{.step = receipt::Step(std::move(task.offer.job), 1),
                    .output_salt = deps_.rng.next_digest(),
                    .output_root = task.answer->output_root,
                    .outputs = std::move(task.answer->outputs)};
      done.commitment = protocol::commit_step(task.id, 1, done.output_root, done.output_salt);
      ready_.push_back(std::move(done));
    } else {
      refuse(task.id, task.answer.error());
    }
  }
  if (!ready_.empty()) plan_flush();
}

void Jobs::handle(const rpc::Withdraw& message) {
  for (const core::Digest& job : message.jobs) {
    if (const auto found = tasks_.find(job); found != tasks_.end()) {
      found->second->is_withdrawn = true;
      tasks_.erase(found);
    }
    std::erase_if(ready_, [&](const Computed& one) { return one.step.job_id() == job; });
    unsigned_.erase(job);
  }
}

void Jobs::handle(const rpc::Begin& message) {
  const auto found = serial_.at_hand(message.job);
  if (!found) return refuse(message.job, found.error());
  const SerialJobs::LivePtr live = *found;
  const auto made = serial_.asked(*live, message);
  if (!made) return refuse(message.job, made.error());
  if (*made) return send(**made);
  live->is_busy = true;
  const auto outputs = std::make_shared<Result<receipt::Values>>();
  offload([live, begin = message, outputs] { *outputs = live->provider->compute(begin); },
          [this, live, begin = message, outputs, stream = stream_] {
            const auto committed = outputs->and_then([&](receipt::Values& values) {
              return serial_.commit(*live, begin, std::move(values));
            });
            if (!committed) serial_.drop(live->id);
            if (stream == stream_ && !live->is_asked_again) {
              if (!committed) refuse(live->id, committed.error());
              if (committed) send(*committed);
            }
            set_free(*live);
          });
}

void Jobs::send(receipt::Commit made) { deps_.gateway.send(rpc::Commit{{std::move(made)}}); }

/// Answers wait for each other as long as more tasks are ahead of us than answers wait, so that one
/// signature and one write serve many; the worker has enough to do meanwhile. Who sends one task at
/// a time never waits.
void Jobs::plan_flush() {
  if (flush_is_due_) return;
  if (ready_.size() >= queued_) {
    flush_is_due_ = true;
    deps_.loop.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->flush();
    });
  } else if (ready_.size() == 1) {
    deps_.loop.after(config_.commit_wait_ms_max, [weak = weak_from_this(), planned = flushes_] {
      const auto self = weak.lock();
      if (self && self->flushes_ == planned) self->flush();
    });
  }
}

// All answers that are ready share one signature and one durable write.
void Jobs::flush() {
  flush_is_due_ = false;
  if (ready_.empty()) return;
  ++flushes_;
  std::vector<Computed> made = std::exchange(ready_, {});
  std::vector<protocol::ReceiptBody> bodies;
  for (const Computed& one : made) {
    const std::uint64_t round = deps_.purse.round_for(one.step.job());
    bodies.push_back({one.step.job_id(), 1, one.commitment, round});
  }
  const auto signatures = protocol::sign_batch(deps_.key, protocol::Role::kProvider, bodies);
  rpc::Commit commit;
  std::vector<ticket::NewTicket> tickets;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Computed& one = made[i];
    const std::uint64_t round = bodies[i].round;
    commit.items.push_back({one.step.job_id(), 1, one.commitment, round, signatures[i]});
    tickets.push_back({{one.step.job(), 1, one.commitment, round, signatures[i], {}},
                       one.output_root,
                       one.output_salt});
  }
  if (const auto kept = deps_.purse.commit(tickets); !kept) {
    for (const Computed& one : made) refuse(one.step.job_id(), kept.error());
    return;
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    Computed& one = made[i];
    one.step.commit_own(one.commitment, bodies[i].round, signatures[i]);
    unsigned_.insert_or_assign(bodies[i].job_id, std::move(one));
  }
  deps_.gateway.send(std::move(commit));
}

void Jobs::handle(const rpc::Countersign& message) {
  std::vector<protocol::Receipt> receipts;
  std::vector<rpc::Deliver> deliveries;
  for (const rpc::Countersign::Item& item : message.items) {
    const auto found = unsigned_.find(item.job);
    if (found == unsigned_.end()) {
      countersign_serial(item);
      continue;
    }
    // Not the client's signature: nothing is owed and nothing is shown.
    Computed& one = found->second;
    if (item.step != 1 || !one.step.countersign(item.signature, &known_)) continue;
    receipts.push_back(one.step.receipt());
    deliveries.push_back({item.job, 1, one.output_salt, std::move(one.outputs)});
    unsigned_.erase(found);
  }
  if (const auto saved = deps_.purse.countersign(receipts); !saved) {
    for (const rpc::Deliver& delivery : deliveries) refuse(delivery.job, saved.error());
    return;
  }
  for (rpc::Deliver& delivery : deliveries) deliver(std::move(delivery));
}

void Jobs::countersign_serial(const rpc::Countersign::Item& item) {
  const auto live = serial_.at_hand(item.job);
  if (!live) {
    if (serial_.is_known(item.job)) refuse(item.job, live.error());
    return;
  }
  auto made = serial_.countersign(**live, item);
  if (!made) {
    serial_.drop(item.job);
    return refuse(item.job, made.error());
  }
  deliver(*std::move(made));
}

void Jobs::deliver(rpc::Deliver message) {
  ++counts_.delivered;
  deps_.gateway.send(std::move(message));
}

}  // namespace commensal::provider
