// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace commensal::kernels {

namespace {

struct Job {
  const std::function<void(std::int64_t)>& task;
  std::int64_t count;
  std::atomic<std::int64_t> next = 0;

  void work() {
    for (std::int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      task(i);
    }
  }
};

}  // namespace

struct ThreadPool::State {
  // Constant after construction.
  std::vector<std::thread> workers;

  // Protected by mutex.
  std::mutex mutex;
  std::condition_variable job_came, worker_left;
  Job* job = nullptr;  // null when there is nothing (more) to take part in
  std::uint64_t jobs_posted = 0;
  int at_work = 0;  // workers inside *job
  bool closing = false;

  void worker_main() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      job_came.wait(lock, [&] { return closing || (job != nullptr && jobs_posted != seen); });
      if (closing) return;
      seen = jobs_posted;
      Job* const mine = job;
      ++at_work;
      lock.unlock();
      mine->work();
      lock.lock();
      if (--at_work == 0) worker_left.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  core::check(threads >= 1, "a pool has at least the caller's thread");
  for (int i = 1; i < threads; ++i) {
    try {
      state_->workers.emplace_back([state = state_.get()] { state->worker_main(); });
    } catch (const std::system_error&) {
      return;  // the system has no more threads to give: fewer do the same work, with the same bits
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closing = true;
  }
  state_->job_came.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  Job job{task, count};
  if (state_->workers.empty() || count <= 1) return job.work();
  {
    const std::lock_guard lock(state_->mutex);
    core::check(state_->job == nullptr, "one run at a time");
    state_->job = &job;
    ++state_->jobs_posted;
  }
  // No more sleepers are woken than there are tasks for.
  const auto helpers = static_cast<std::int64_t>(state_->workers.size());
  if (count - 1 >= helpers) {
    state_->job_came.notify_all();
  } else {
    for (std::int64_t i = 0; i < count - 1; ++i) state_->job_came.notify_one();
  }
  job.work();
  // A worker that has not woken yet finds no job and sleeps on; only those inside are waited for.
  std::unique_lock lock(state_->mutex);
  state_->job = nullptr;
  state_->worker_left.wait(lock, [&] { return state_->at_work == 0; });
}

}  // namespace commensal::kernels
