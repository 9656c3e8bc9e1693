// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace commensal::kernels {

/// Threads that sleep when there is nothing to do: the host owns the machine. The caller's thread
/// takes part, so a pool of 1 has no thread of its own.
/// Thread-safety: one run() at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int threads() const;

  /// Calls task(i) once for every i in [0, count), in any order, on any of the threads; returns
  /// when all are done. Tasks write disjoint outputs, so the bits do not depend on the split.
  void run(std::int64_t count, const std::function<void(std::int64_t)>& task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::kernels
