// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/provider/worker.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::provider {

using core::Result;
using receipt::Values;

Result<std::shared_ptr<rollout::Engine>> Worker::engine_for(const rpc::Offer& offer,
                                                            const Place& place) {
  const Key key{offer.model, offer.job.feeds};
  if (const auto* const found = loaded_.find(key)) return *found;
  if (!std::filesystem::exists(place.model_path)) {
    COMMENSAL_TRY(fetch_model(offer.model, place));
  }
  COMMENSAL_ASSIGN(auto engine, engines_.load(place.model_path, offer.job.feeds));
  return loaded_.add(key, std::move(engine));
}

Fetch Worker::fetch() const {
  const std::lock_guard lock(mutex_);
  return fetch_;
}

Result<void> Worker::fetch_model(const core::Digest& model, const Place& place) {
  {
    const std::lock_guard lock(mutex_);
    fetch_ = {.number = fetch_.number + 1, .model = model, .failed = {}};
  }
  const auto fetched = gateway_.fetch_model(place.session_token, model, place.model_path.string(),
                                            [this](std::int64_t bytes) {
                                              const std::lock_guard lock(mutex_);
                                              fetch_.bytes = bytes;
                                            });
  const std::lock_guard lock(mutex_);
  fetch_.is_over = true;
  if (!fetched) fetch_.failed = fetched.error().message;
  return fetched;
}

void Worker::add(TaskPtr task) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(task));
}

std::vector<TaskPtr> Worker::take(const core::Digest& model) {
  const std::lock_guard lock(mutex_);
  std::vector<TaskPtr> taken;
  for (auto at = waiting_.begin(); at != waiting_.end() && taken.size() < at_once_;) {
    const bool is_wanted = (*at)->offer.model == model || (*at)->is_withdrawn;
    if (is_wanted && !(*at)->is_withdrawn) taken.push_back(*at);
    at = is_wanted ? waiting_.erase(at) : at + 1;
  }
  return taken;
}

void Worker::finish(const TaskPtr& task, const Place& place) {
  if (task->is_done) return;
  if (task->is_withdrawn) {
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, task);
    return;
  }
  run_all(task->offer.job.is_serial() ? std::vector{task} : take(task->offer.model), place);
}

/// Of one model and feeds.
void Worker::run_all(std::span<const TaskPtr> tasks, const Place& place) {
  if (tasks.empty()) return;
  const auto engine = engine_for(tasks[0]->offer, place);
  std::vector<Task*> running;
  std::vector<Values> requests;
  for (const TaskPtr& task : tasks) {
    const rpc::Offer& offer = task->offer;
    task->is_done = true;
    if (!engine) {
      task->answer = tl::unexpected(engine.error());
      continue;
    }
    task->answer->engine = *engine;
    if (offer.job.is_serial()) continue;  // rollout::RolloutProvider checks it
    auto inputs = receipt::check_job(offer.job, offer.input_salt, offer.inputs, provider_,
                                     (*engine)->graph(), (*engine)->roots());
    if (!inputs) {
      task->answer = tl::unexpected(inputs.error());
      continue;
    }
    running.push_back(task.get());
    requests.push_back(*std::move(inputs));
  }
  if (requests.empty()) return;
  auto runs = (*engine)->run_all(requests);
  const graph::Graph& graph = (*engine)->graph();
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (!runs[i]) {
      running[i]->answer = tl::unexpected(runs[i].error());
      continue;
    }
    Answer& answer = *running[i]->answer;
    answer.outputs = receipt::name_tensors(graph, graph.outputs, *std::move(runs[i]));
    answer.output_root = receipt::state_root(answer.outputs);
  }
}

}  // namespace commensal::provider
