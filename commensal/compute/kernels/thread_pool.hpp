// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/pacer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace commensal::kernels {

/// Tasks dealt out to several workers: each has a share of neighbouring ones, the same every time,
/// so that it finds in its caches what it wrote before; who is done takes from the others.
/// Thread-safety: any thread.
class Shares {
 public:
  Shares(std::int64_t count, int workers);

  /// Calls task(i) for what is left, the share of worker `worker` first.
  template <class Task>
  void work(int worker, const Task& task) {
    const auto all = static_cast<int>(shares_.size());
    for (int k = 0; k < all; ++k) {
      Share& share = shares_[static_cast<std::size_t>((worker + k) % all)];
      for (std::int64_t i = share.take(); i < share.end; i = share.take()) task(i);
    }
  }

 private:
  struct alignas(64) Share {  // a cache line each
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
    std::int64_t take() { return next.fetch_add(1, std::memory_order_relaxed); }
  };
  std::vector<Share> shares_;
};

/// Thrown by a ThreadPool whose pacer says to give up, so that a kernel ends wherever it is. Who
/// gives a pacer to a burst catches it, by unless_stopped().
struct Stopped {};

/// What `kernel` returns; nothing if it was stopped.
template <class Kernel>
auto unless_stopped(const Kernel& kernel) -> std::optional<decltype(kernel())> {
  try {
    return kernel();
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

/// Threads that sleep when there is nothing to do: the host owns the machine. Between the jobs of a
/// burst, which follow each other closely, they look out for the next one for at most 50
/// microseconds before they sleep. The caller's thread takes part, so a pool of 1 has no thread of
/// its own.
/// Thread-safety: one run() at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int threads() const;

  /// While one lives, jobs are expected to follow each other. They nest. `pacer`: each thread
  /// yields to it before each task; it outlives the burst. Once it says to give up, tasks are
  /// skipped, and run() and yield() throw Stopped. An inner burst without one keeps that of the
  /// outer.
  class Burst {
   public:
    explicit Burst(ThreadPool& pool, core::Pacer* pacer = nullptr);
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;
    ~Burst();

   private:
    ThreadPool& pool_;
    core::Pacer* outer_;
  };

  /// Calls task(i) once for every i in [0, count), in any order, on any of the threads; returns
  /// when all are done. Tasks write disjoint outputs, so the bits do not depend on the split.
  /// A task throws nothing but Stopped.
  template <class Task>
  void run(std::int64_t count, const Task& task) {
    run_each(count, std::cref(task));  // a reference: nothing is allocated
  }

  /// For a task that takes longer than some milliseconds: yields to the burst's pacer in between.
  /// Thread-safety: the threads that run tasks.
  void yield() const;

 private:
  void run_each(std::int64_t count, const std::function<void(std::int64_t)>& task);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::kernels
