// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/provider/executor.hpp>
#include <filesystem>
#include <iterator>

namespace commensal::provider {

using core::Result;
using receipt::Values;

namespace {

/// Asked to stop once all of these tasks are withdrawn, or the executor closes.
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

/// Of tasks that went together: one run, or one of each and its part of the time.
void note_run(std::span<Task* const> tasks, std::int64_t took_ns, bool is_joined) {
  const auto count = static_cast<std::int64_t>(tasks.size());
  const auto all = std::make_shared<JointRun>(JointRun{.tasks = tasks.size(), .took_ns = took_ns});
  for (Task* const task : tasks) {
    const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(task->rows(), 1));
    if (is_joined) all->rows += rows;
    task->run = is_joined ? all
                          : std::make_shared<JointRun>(
                                JointRun{.tasks = 1, .rows = rows, .took_ns = took_ns / count});
  }
}

}  // namespace

Result<std::shared_ptr<rollout::Engine>> Executor::engine(const core::Digest& model,
                                                          const std::vector<protocol::Feed>& feeds,
                                                          const core::Path& path,
                                                          const std::string& session_token,
                                                          const std::stop_token& cancel) {
  const Key key{model, feeds};
  if (const auto* const found = loaded_.find(key)) return *found;
  if (!std::filesystem::exists(path)) COMMENSAL_TRY(fetch_model(model, path, session_token));
  COMMENSAL_ASSIGN(auto engine, engines_.load(path, feeds, cancel));
  return loaded_.add(key, std::move(engine));
}

Fetch Executor::fetch() const {
  const std::lock_guard lock(mutex_);
  return fetch_;
}

Result<void> Executor::fetch_model(const core::Digest& model, const core::Path& path,
                                   const std::string& session_token) {
  {
    const std::lock_guard lock(mutex_);
    fetch_ = {.number = fetch_.number + 1, .model = model, .failed = {}};
  }
  const auto fetched =
      gateway_.fetch_model(session_token, model, path.string(), [this](std::int64_t bytes) {
        const std::lock_guard lock(mutex_);
        fetch_.bytes = bytes;
      });
  const std::lock_guard lock(mutex_);
  fetch_.is_over = true;
  if (!fetched) fetch_.failed = fetched.error().message;
  return fetched;
}

void Executor::prefetch(const core::Digest& model, const core::Path& path,
                        const std::string& session_token) {
  if (closing_.stop_requested() || std::filesystem::exists(path)) return;
  (void)fetch_model(model, path, session_token);  // who is asked for it later tries again
}

void Executor::forget(const core::Digest& model) {
  loaded_.erase_if([&](const Key& key) { return key.model == model; });
  engines_.forget(model);
}

bool Executor::add(TaskPtr task) {
  const std::lock_guard lock(mutex_);
  return waiting_.add(std::move(task));
}

bool Executor::release(const TaskPtr& task) {
  const std::lock_guard lock(mutex_);
  return waiting_.release(task);
}

std::size_t Executor::held() const {
  const std::lock_guard lock(mutex_);
  return waiting_.held();
}

Runs Executor::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

std::vector<TaskPtr> Executor::finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

std::vector<TaskPtr> Executor::take() {
  const std::lock_guard lock(mutex_);
  std::ranges::move(waiting_.take_withdrawn(), std::back_inserter(finished_));
  std::vector<TaskPtr> taken = waiting_.take();
  if (!taken.empty() && taken[0]->is_joint()) {
    ++runs_.runs;
    runs_.tasks += taken.size();
  }
  return taken;
}

void Executor::next() {
  const std::vector<TaskPtr> tasks = take();
  if (tasks.empty()) return;
  run_all(tasks);
  const std::lock_guard lock(mutex_);
  finished_.insert(finished_.end(), tasks.begin(), tasks.end());
}

/// Of one model and feeds.
void Executor::run_all(std::span<const TaskPtr> tasks) {
  const Cancellation cancellation(tasks, closing_);
  const Task& first = *tasks[0];
  const auto engine = this->engine(first.model, first.job->job().feeds, first.model_path,
                                   first.session_token, cancellation.token());
  const graph::RunOptions options{.cancel = cancellation.token(), .ops_max = tasks[0]->ops_max};
  std::vector<Task*> joint;
  std::vector<Values> requests;
  for (const TaskPtr& task : tasks) {
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
  const std::int64_t began_ns = clock_.monotonic_ns();
  auto runs = (*engine)->run_all(requests, options);
  note_run(joint, clock_.monotonic_ns() - began_ns, (*engine)->joins());
  for (std::size_t i = 0; i < joint.size(); ++i) {
    Task& task = *joint[i];
    task.answer = runs[i].and_then([&](Values& outputs) {
      return task.job->outputs_of(task.begin, **engine, std::move(outputs));
    });
  }
}

}  // namespace commensal::provider
