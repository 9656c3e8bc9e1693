// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/provider/worker.hpp>

namespace commensal::provider {

using core::Result;
using receipt::Values;

namespace {

/// Asked to stop once all of these tasks are withdrawn, or the worker closes.
class Cancellation {
 public:
  Cancellation(std::span<const TaskPtr> tasks, const std::stop_token& closing)
      : left_(tasks.size()) {
    for (const TaskPtr& task : tasks) {
      watches_.push_back(std::make_unique<Watch>(task->withdrawal.get_token(), [this] {
        if (--left_ == 0) source_.request_stop();
      }));
    }
    watches_.push_back(std::make_unique<Watch>(closing, [this] { source_.request_stop(); }));
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  using Watch = std::stop_callback<std::function<void()>>;
  std::stop_source source_;
  std::atomic<std::size_t> left_;
  std::vector<std::unique_ptr<Watch>> watches_;  // end first
};

}  // namespace

Result<std::shared_ptr<rollout::Engine>> Worker::engine_for(const Task& task, const Place& place) {
  const Key key = key_of(task);
  if (const auto* const found = loaded_.find(key)) return *found;
  if (!std::filesystem::exists(place.model_path)) {
    COMMENSAL_TRY(fetch_model(task.model, place));
  }
  COMMENSAL_ASSIGN(auto engine, engines_.load(place.model_path, key.feeds));
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

/// The first, and what may be computed together with it.
std::vector<TaskPtr> Worker::take(const TaskPtr& first) {
  const std::lock_guard lock(mutex_);
  const Key key = key_of(*first);
  const auto is_wanted = [&](const TaskPtr& one) {
    return one == first || (first->is_joint() && one->is_joint() && key_of(*one) == key &&
                            one->ops_max == first->ops_max);
  };
  std::vector<TaskPtr> taken;
  for (auto at = waiting_.begin(); at != waiting_.end() && taken.size() < at_once_;) {
    const bool is_withdrawn = (*at)->is_withdrawn();
    const bool goes = is_withdrawn || is_wanted(*at);
    if (goes && !is_withdrawn) taken.push_back(*at);
    at = goes ? waiting_.erase(at) : at + 1;
  }
  return taken;
}

void Worker::finish(const TaskPtr& task, const Place& place) {
  if (task->is_done) return;
  if (task->is_withdrawn()) {
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, task);
    return;
  }
  run_all(take(task), place);
}

/// Of one model and feeds.
void Worker::run_all(std::span<const TaskPtr> tasks, const Place& place) {
  if (tasks.empty()) return;
  const auto engine = engine_for(*tasks[0], place);
  const Cancellation cancellation(tasks, closing_);
  const graph::RunOptions options{.cancel = cancellation.token(), .ops_max = tasks[0]->ops_max};
  std::vector<Task*> joint;
  std::vector<Values> requests;
  for (const TaskPtr& task : tasks) {
    task->is_done = true;
    if (!engine) {
      task->answer = tl::unexpected(engine.error());
    } else if (!task->is_joint()) {
      task->answer = task->job->compute(task->begin, **engine, options);
    } else if (auto inputs = task->job->inputs_of(task->begin, **engine)) {
      joint.push_back(task.get());
      requests.push_back(std::move(inputs->values));
    } else {
      task->answer = tl::unexpected(inputs.error());
    }
  }
  if (requests.empty()) return;
  auto runs = (*engine)->run_all(requests, options);
  for (std::size_t i = 0; i < joint.size(); ++i) {
    Task& task = *joint[i];
    task.answer = runs[i].and_then([&](Values& outputs) {
      return task.job->outputs_of(task.begin, **engine, std::move(outputs));
    });
  }
}

}  // namespace commensal::provider
