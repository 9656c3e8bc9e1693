// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace commensal::kernels {

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

  /// While one lives, jobs are expected to follow each other. They nest.
  class Burst {
   public:
    explicit Burst(ThreadPool& pool);
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;
    ~Burst();

   private:
    ThreadPool& pool_;
  };

  /// Calls task(i) once for every i in [0, count), in any order, on any of the threads; returns
  /// when all are done. Tasks write disjoint outputs, so the bits do not depend on the split.
  void run(std::int64_t count, const std::function<void(std::int64_t)>& task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::kernels
