// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/provider/task_queue.hpp>

namespace commensal::provider {

void TaskQueue::add(std::shared_ptr<QueuedTask> task) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(task));
}

std::vector<std::shared_ptr<QueuedTask>> TaskQueue::take(const core::Digest& model) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<QueuedTask>> taken;
  for (auto at = waiting_.begin(); at != waiting_.end() && taken.size() < at_once_;) {
    const bool is_wanted = (*at)->task.model == model || (*at)->is_withdrawn;
    if (is_wanted && !(*at)->is_withdrawn) taken.push_back(*at);
    at = is_wanted ? waiting_.erase(at) : at + 1;
  }
  return taken;
}

void TaskQueue::drop(const std::shared_ptr<QueuedTask>& task) {
  const std::lock_guard lock(mutex_);
  std::erase(waiting_, task);
}

void TaskQueue::finish(const std::shared_ptr<QueuedTask>& task, const std::string& session_token,
                       const core::Path& model_path) {
  if (task->is_done) return;
  if (task->is_withdrawn) return drop(task);
  const auto taken = take(task->task.model);
  std::vector<const rpc::Task*> tasks;
  for (const auto& one : taken) tasks.push_back(&one->task);
  if (tasks.empty()) return;
  auto answers = worker_.run_all(tasks, session_token, model_path);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    taken[i]->answer = std::move(answers[i]);
    taken[i]->is_done = true;
  }
}

}  // namespace commensal::provider
