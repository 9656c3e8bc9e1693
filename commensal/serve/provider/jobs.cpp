// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/disk_full.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/provider/jobs.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

/// A run that took longer costs much more than a signature and a write.
constexpr std::int64_t kLongRunNs = 10'000'000;

bool is_of_long_run(const LiveJobPtr& live) {
  return live->run != nullptr && live->run->took_ns >= kLongRunNs;
}

}  // namespace

Jobs::Jobs(const Dependencies& deps, const Config& config)
    : deps_(deps),
      config_(config),
      executor_(std::make_shared<Executor>(deps.clock, deps.engines, deps.gateway, config.at_once,
                                           deps.closing)),
      live_({deps.rng, deps.store, deps.key, deps.purse, config.kept_max, config.kept_bytes_max}) {}

void Jobs::on_connect() {
  ++stream_;
  closed_.clear();
  tells_runs_ = false;
  for (const LiveJobPtr& live : live_.drop_fleeting()) {
    if (deps_.job_ended) tell(ending(*live), "lost");
    forget(live);
  }
}

JobEnd Jobs::ending(const LiveJob& live) const {
  JobEnd end{.job = live.id, .step = live.asked.step};
  if (live.model) end.model = *live.model;
  if (live.request) {
    end.request_id = live.request->id;
    end.trace_id = live.request->trace_id;
  }
  end.took_ns = live.asked_ns > 0 ? deps_.clock.monotonic_ns() - live.asked_ns : 0;
  if (live.run) {
    end.computed_ns = live.run->took_ns;
    end.tasks = live.run->tasks;
    end.rows = live.run->rows;
  }
  return end;
}

void Jobs::tell(JobEnd end, std::string_view outcome) {
  if (!deps_.job_ended) return;
  end.wall_ms = deps_.clock.wall_ms();
  end.outcome = outcome;
  deps_.job_ended(end);
}

void Jobs::refuse(JobEnd end, core::Error reason) {
  ++counts_.refused;
  counts_.refused_why = reason.message;
  const core::Digest id = end.job;
  end.why = reason.message;
  tell(std::move(end), "refused");
  if (core::is_disk_full(reason)) reason.message = "the provider's disk is full";
  deps_.gateway.send(rpc::Refuse{id, std::move(reason)});
}

void Jobs::on_welcome(std::string session_token, bool tells_room) {
  session_token_ = std::move(session_token);
  tells_room_ = tells_room;
  if (tells_room) report_load();
}

void Jobs::report_load() {
  rpc::Load load{counts_.at_work, deps_.cache.models()};
  if (tells_room_) load.room_bytes = closed_.empty() ? deps_.cache.room_bytes() : 0;
  deps_.gateway.send(std::move(load));
}

void Jobs::report_work() {
  if (std::exchange(reports_work_, true)) return;
  deps_.loop.after(limits::kAtWorkWordMs, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->reports_work_ = false;
    if (self->counts_.at_work == 0) return;
    self->report_load();
    self->report_work();
  });
}

// From the question to the answer.

Result<LiveJobPtr> Jobs::accept(rpc::Offer& message) {
  if (!closed_.empty()) {
    return fail(ErrorCode::kFailedPrecondition, "no work for this gateway: {}", closed_);
  }
  if (LiveJobPtr live = live_.find(protocol::job_id(message.job))) return live;
  COMMENSAL_TRY(deps_.purse.accept(message.job));
  const std::size_t at_hand = live_.fleeting() + withdrawn_;
  if (!message.job.traits().is_kept &&
      at_hand >= static_cast<std::size_t>(limits::kProviderQueueMax)) {
    return fail(ErrorCode::kResourceExhausted, "the provider's queue is full ({})", at_hand);
  }
  return live_.take_up({std::move(message.job), message.input_salt, std::move(message.inputs)});
}

void Jobs::handle(rpc::Offer message) {
  const core::Digest id = protocol::job_id(message.job);
  const bool is_kept = message.job.traits().is_kept;
  auto accepted = accept(message);
  if (!accepted) {
    // What was begun may go on later: the gateway has yet to draw a round, say.
    const bool may_go_on = is_kept && (!closed_.empty() || live_.is_known(id));
    if (may_go_on) accepted.error().code = ErrorCode::kUnavailable;
    JobEnd end{.job = id, .model = message.model, .step = message.step};
    if (message.request) end.request_id = message.request->id;
    if (message.request) end.trace_id = message.request->trace_id;
    return refuse(std::move(end), std::move(accepted.error()));
  }
  (*accepted)->model = message.model;
  (void)deps_.holdings.take_back(
      holding_of(message.model));  // where that fails it is fetched again
  (*accepted)->request = std::move(message.request);
  tells_runs_ = tells_runs_ || (*accepted)->request.has_value();
  (*accepted)->ops_max =
      static_cast<std::int64_t>(std::min<std::uint64_t>(message.ops_max, limits::kStepOpsMax));
  (*accepted)->batching = std::move(message.batching);
  ask(*accepted, {id, message.step, message.value});
}

void Jobs::handle(const rpc::Begin& message) {
  const LiveJobPtr live = live_.find(message.job);
  if (!live || !live->model) {
    return refuse({.job = message.job, .step = message.step},
                  {ErrorCode::kUnavailable, "the job is not at hand: offer it"});
  }
  ask(live, message);
}

void Jobs::ask(const LiveJobPtr& live, const receipt::Begin& begin) {
  if (live->is_busy()) {
    const bool is_same = begin.step == live->asked.step && begin.value == live->asked.value;
    if (!is_same) return refuse(ending(*live), {ErrorCode::kUnavailable, "the job is at work"});
    live->stream = stream_;
    return;
  }
  const auto made = live_.asked(*live, begin);
  if (!made) {
    if (live->job->last().step.index() == 0) live_.drop(live->id);
    return refuse(ending(*live), made.error());
  }
  if (*made) return deps_.gateway.send(rpc::Commit{{**made}});
  live->asked = begin;
  live->asked_ns = deps_.clock.monotonic_ns();
  live->run = nullptr;
  live->stream = stream_;
  compute(live);
}

void Jobs::compute(const LiveJobPtr& live) {
  const auto task = std::make_shared<Task>();
  task->model = *live->model;
  task->model_path = deps_.cache.path_of(task->model);
  task->session_token = session_token_;
  task->begin = live->asked;
  task->job = live->job;
  task->ops_max = live->ops_max;
  task->batching = live->batching;
  live->task = task;
  queued_ += task->is_joint() ? 1 : 0;
  ++counts_.at_work;
  report_work();
  computing_.emplace(task, live);
  if (executor_->add(task)) compute_soon();
  if (task->waits()) release_later(task);
}

/// What comes in one frame is there before the first of it is taken: it can share a run.
void Jobs::compute_soon() {
  if (++due_ > 1) return;
  deps_.loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    for (std::size_t left = std::exchange(self->due_, 0); left > 0; --left) self->compute_next();
  });
}

void Jobs::compute_next() {
  deps_.loop.offload(
      core::Loop::Lane::kComputing, [executor = executor_] { executor->next(); },
      [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->collect();
      });
}

/// The loop counts milliseconds.
void Jobs::release_later(const TaskPtr& task) {
  const std::int64_t wait_ms = (std::int64_t{task->batching->wait_us} + 999) / 1000;
  // What is over before holds nothing until then.
  deps_.loop.after(wait_ms, [weak = weak_from_this(), waiting = std::weak_ptr(task)] {
    const auto self = weak.lock();
    const TaskPtr held = waiting.lock();
    if (self && held && self->executor_->release(held)) self->compute_next();
  });
}

void Jobs::collect() {
  const auto finished = executor_->finished();
  counts_.at_work -= static_cast<std::uint32_t>(finished.size());
  for (std::size_t i = 0; i < finished.size(); ++i) {
    const core::Digest& model = finished[i]->model;
    if (i == 0 || model != finished[i - 1]->model) hold(model);
  }
  if (std::ranges::any_of(finished, [](const auto& task) { return !task->is_withdrawn(); }))
    report_load();
  for (const TaskPtr& task : finished) {
    const LiveJobPtr live = std::move(computing_.extract(task).mapped());
    computed(live, *task);
  }
}

/// What neither a message nor a row holds is not signed either.
Result<void> Jobs::check_size(const rollout::ProviderJob& job,
                              const Result<rollout::ProviderJob::Computed>& answer) const {
  if (!answer) return tl::unexpected(answer.error());
  const bool is_kept = job.job().traits().is_kept;  // its inputs have a row of their own
  return receipt::fits(is_kept ? tensor::NamedTensors() : job.inputs(), answer->outputs,
                       config_.answer_bytes_max);
}

void Jobs::computed(const LiveJobPtr& live, Task& task) {
  queued_ -= task.is_joint() ? 1 : 0;
  if (task.is_withdrawn()) {
    withdrawn_ -= task.is_joint() ? 1 : 0;
  } else {
    live->task = nullptr;
    live->run = std::move(task.run);
    const auto fits = check_size(*live->job, task.answer);
    if (fits) {
      live->job->hold(*std::move(task.answer));
      ready_.push_back(live);
    } else {
      live_.drop(live->id);
      if (live->stream == stream_) refuse(ending(*live), fits.error());
    }
  }
  if (!ready_.empty()) plan_flush();
}

/// Nobody waits for it.
void Jobs::forget(const LiveJobPtr& live) {
  live_.drop(live->id);
  std::erase(ready_, live);
  if (!live->task) return;
  withdrawn_ += live->task->is_joint() ? 1 : 0;
  live->task->withdrawal.request_stop();
}

void Jobs::handle(const rpc::Withdraw& message) {
  for (const core::Digest& job : message.jobs) {
    const LiveJobPtr live = live_.find(job);
    if (!live) continue;
    if (deps_.job_ended) tell(ending(*live), "withdrawn");
    forget(live);
  }
}

/// Those that are committed to and that the gateway has not signed for.
std::size_t Jobs::unsigned_jobs() const {
  const std::size_t others = ready_.size() + queued_ - withdrawn_;
  return live_.fleeting() - std::min(live_.fleeting(), others);
}

/// Answers wait for each other as long as more tasks are ahead of us than answers wait, those apart
/// that wait for others, so that one signature and one write serve many; the executor has enough to
/// do meanwhile. They wait a moment
/// for the signatures under those before them too: what comes meanwhile goes with them. Who sends
/// one task at a time never waits, nor does a step that others follow, nor an answer of a long run
/// for the run behind it: whoever asks again when it comes would find that one under way, and the
/// next one would be the smaller.
void Jobs::plan_flush() {
  if (flush_is_due_) return;
  const bool is_followed = std::ranges::any_of(
      ready_, [](const LiveJobPtr& live) { return !live->job->job().traits().is_joint; });
  const bool is_whole =
      ready_.size() + executor_->held() >= queued_ || std::ranges::any_of(ready_, is_of_long_run);
  if (is_followed || (is_whole && unsigned_jobs() == 0)) {
    flush_is_due_ = true;
    deps_.loop.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->flush();
    });
  } else if (is_whole && !std::exchange(gathers_, true)) {
    deps_.loop.after(limits::kGatherMs, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->gathers_ = false;
      self->flush();
    });
  } else if (ready_.size() == 1) {
    deps_.loop.after(config_.commit_wait_ms_max, [weak = weak_from_this(), planned = flushes_] {
      const auto self = weak.lock();
      if (self && self->flushes_ == planned) self->flush();
    });
  }
}

/// With the item that is next.
void Jobs::tell_run(const LiveJob& live, rpc::Commit& commit) const {
  if (!tells_runs_) return;
  if (!commit.runs) commit.runs.emplace();
  if (!live.request || !live.run || std::exchange(live.run->is_told, true)) return;
  commit.runs->push_back({.item = static_cast<std::uint32_t>(commit.items.size()),
                          .tasks = static_cast<std::uint32_t>(live.run->tasks),
                          .rows = live.run->rows,
                          .took_ns = static_cast<std::uint64_t>(live.run->took_ns)});
}

void Jobs::flush() {
  flush_is_due_ = false;
  if (ready_.empty()) return;
  ++flushes_;
  const std::vector<LiveJobPtr> made = std::exchange(ready_, {});
  for (const LiveJobPtr& live : made) owe(*live);
  const auto committed = live_.commit(made);
  rpc::Commit commit;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!committed) live_.drop(made[i]->id);
    if (made[i]->stream != stream_) continue;
    if (!committed) {
      refuse(ending(*made[i]), committed.error());
    } else {
      tell_run(*made[i], commit);
      commit.items.push_back((*committed)[i]);
    }
  }
  if (!commit.items.empty()) deps_.gateway.send(std::move(commit));
}

void Jobs::handle(const rpc::Countersign& message) {
  std::vector<LiveJobPtr> signed_jobs;
  std::vector<receipt::Countersign> items;
  for (const rpc::Countersign::Item& item : message.items) {
    auto live = live_.at_hand(item.job);
    if (!live && live.error().code == ErrorCode::kNotFound) continue;  // withdrawn meanwhile
    if (!live || (*live)->is_busy()) {
      JobEnd end = live ? ending(**live) : JobEnd{.job = item.job, .step = item.step};
      refuse(std::move(end), live ? core::Error{ErrorCode::kUnavailable, "the job is at work"}
                                  : std::move(live.error()));
      continue;
    }
    signed_jobs.push_back(*std::move(live));
    items.push_back(item);
  }
  auto delivered = live_.countersign(signed_jobs, items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto made = delivered ? std::move((*delivered)[i]) : tl::unexpected(delivered.error());
    if (!made || !signed_jobs[i]->is_kept()) live_.drop(items[i].job);
    if (!made) {
      refuse(ending(*signed_jobs[i]), std::move(made.error()));
      continue;
    }
    ++counts_.delivered;
    if (deps_.job_ended) tell(ending(*signed_jobs[i]), "delivered");
    deps_.gateway.send(*std::move(made));
  }
  if (!ready_.empty()) plan_flush();
}

}  // namespace commensal::provider
