// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/serve/provider/worker.hpp>
#include <deque>
#include <memory>
#include <mutex>

namespace commensal::provider {

/// A task on its way through the worker. `task` is the worker's until it is done.
struct QueuedTask {
  rpc::Task task;
  core::Result<Answer> answer = Answer{};
  std::atomic<bool> is_withdrawn = false;  // nobody waits for the answer: it is not computed
  bool is_done = false;                    // the worker's alone
};

/// The tasks that wait for the worker. It computes them in order, and with the first one those that
/// ask for the same model, `at_once` of them at most, wherever they stand in the queue.
class TaskQueue {
 public:
  TaskQueue(Worker& worker, std::size_t at_once) : worker_(worker), at_once_(at_once) {}

  /// Thread-safety: any thread.
  void add(std::shared_ptr<QueuedTask> task);
  /// Sees to it that `task`, which was added, is done. Thread-safety: as the worker's.
  void finish(const std::shared_ptr<QueuedTask>& task, const std::string& session_token,
              const core::Path& model_path);

 private:
  std::vector<std::shared_ptr<QueuedTask>> take(const core::Digest& model);
  void drop(const std::shared_ptr<QueuedTask>& task);

  Worker& worker_;
  const std::size_t at_once_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<QueuedTask>> waiting_;  // guarded by mutex_
};

}  // namespace commensal::provider
