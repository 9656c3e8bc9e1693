// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/placement.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <system_error>
#include <thread>
#include <vector>

namespace commensal::kernels {

namespace {

struct Job {
  const std::function<void(std::int64_t)>& task;
  Shares shares;
  core::Pacer* pacer;
  int callers_cpu = current_cpu();
  std::atomic<bool> is_stopped = false;

  void work(int worker) {
    try {
      shares.work(worker, [&](std::int64_t i) {
        if (pacer != nullptr && !pacer->yield()) throw Stopped();
        task(i);
      });
    } catch (const Stopped&) {  // the others are told so too
      is_stopped = true;
    }
  }
};

}  // namespace

Shares::Shares(std::int64_t count, int workers) : shares_(static_cast<std::size_t>(workers)) {
  for (int i = 0; i < workers; ++i) {
    shares_[static_cast<std::size_t>(i)].next = i * count / workers;
    shares_[static_cast<std::size_t>(i)].end = (i + 1) * count / workers;
  }
}

// A job is posted by storing its address and counting up `posted`. A worker says that it is inside
// before it looks for the job, and the caller takes the address back before it looks who is inside:
// one of the two sees the other (all of it is sequentially consistent).
struct ThreadPool::State {
  // Constant after construction.
  std::vector<std::thread> workers;

  std::atomic<Job*> job = nullptr;
  std::atomic<std::uint32_t> posted = 0;  // workers sleep on it
  std::atomic<int> inside = 0;            // workers that may hold the job's address
  std::atomic<int> bursts = 0;
  std::atomic<bool> closing = false;

  core::Pacer* pacer = nullptr;  // of the caller's thread

  /// Looks out for at most 50 microseconds: a pause takes 10 to 50 nanoseconds.
  template <class Condition>
  static bool comes_true(const Condition& condition) {
    constexpr int kPauses = 1000;
    for (int i = 0; i < kPauses; ++i) {
      if (condition()) return true;
      pause();
    }
    return condition();
  }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }

  void worker_main(int worker) {
    std::uint32_t seen = 0;
    while (true) {
      const auto is_new = [&] { return posted.load() != seen; };
      if (bursts.load() == 0 || !comes_true(is_new)) posted.wait(seen);
      seen = posted.load();  // first: what closes is said before it is posted
      if (closing.load()) return;
      inside.fetch_add(1);
      if (Job* const mine = job.load()) {
        step_aside_from(mine->callers_cpu);
        mine->work(worker);
      }
      if (inside.fetch_sub(1) == 1) inside.notify_one();
    }
  }

  void post() {
    posted.fetch_add(1);
    posted.notify_all();
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  core::check(threads >= 1, "a pool has at least the caller's thread");
  for (int i = 1; i < threads; ++i) {
    try {
      state_->workers.emplace_back([state = state_.get(), i] { state->worker_main(i); });
    } catch (const std::system_error&) {
      return;  // the system has no more threads to give: fewer do the same work, with the same bits
    }
  }
}

ThreadPool::~ThreadPool() {
  state_->closing = true;
  state_->post();
  for (std::thread& worker : state_->workers) worker.join();
}

ThreadPool::Burst::Burst(ThreadPool& pool, core::Pacer* pacer)
    : pool_(pool), outer_(pool.state_->pacer) {
  if (pacer != nullptr) pool_.state_->pacer = pacer;
  pool_.state_->bursts.fetch_add(1);
}

ThreadPool::Burst::~Burst() {
  pool_.state_->bursts.fetch_sub(1);
  pool_.state_->pacer = outer_;
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::yield() const {
  if (state_->pacer != nullptr && !state_->pacer->yield()) throw Stopped();
}

void ThreadPool::run_each(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  if (state_->workers.empty() || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      yield();
      task(i);
    }
    return;
  }
  Job mine{task, Shares(count, threads()), state_->pacer};
  core::check(state_->job.exchange(&mine) == nullptr, "one run at a time");
  state_->post();
  mine.work(0);
  // A worker that wakes from now on finds no job; only those inside are waited for. (An exchange:
  // qemu 7.2 lets the load below pass a plain store of 64-bit Arm.)
  state_->job.exchange(nullptr);
  const auto all_left = [&] { return state_->inside.load() == 0; };
  if (!State::comes_true(all_left)) {
    while (const int left = state_->inside.load()) state_->inside.wait(left);
  }
  if (mine.is_stopped) throw Stopped();
}

}  // namespace commensal::kernels
