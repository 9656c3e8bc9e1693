// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/result.hpp>
#include <commensal/compute/graph/run_options.hpp>
#include <mutex>

namespace commensal::graph {

/// What one run asks before each node, and its kernels between their pieces: whether it goes on.
/// Once it does not, it never does again. Where yield() says so, the pool throws kernels::Stopped,
/// which unwinds the kernel, and in this room Program::run() up to the session.
/// Thread-safety: any thread.
class RunControl final : public core::Pacer {
 public:
  /// `options.pacer` is the one that holds for this run.
  explicit RunControl(const RunOptions& options)
      : pacer_(options.pacer), cancel_(options.cancel), ops_max_(options.ops_max) {}

  /// Whether anybody asks how many operations a node has.
  bool counts() const { return pacer_ != nullptr || ops_max_ != kNoBudget; }

  bool pace(std::int64_t work_ops) override;
  bool yield() override;
  /// pace(), and why not. Errors: kCancelled, kOverBudget, kUnavailable (the pacer said stop).
  core::Result<void> begin(std::int64_t work_ops);
  /// What ended the run. Precondition: pace() or yield() said so.
  core::Error why() const;

 private:
  enum class End { kNone, kCancelled, kOverBudget, kPacer };
  bool goes_on();
  bool end(End why);

  core::Pacer* const pacer_;
  const std::stop_token cancel_;
  const std::int64_t ops_max_;
  std::atomic<End> end_ = End::kNone;
  std::mutex mutex_;
  std::int64_t ops_ = 0;  // guarded by mutex_
};

}  // namespace commensal::graph
