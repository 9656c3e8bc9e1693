// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>
#include <memory>
#include <string>
#include <vector>

namespace commensal::lab::bench::serve {

struct BatchingOptions {
  core::Path folder;  // for state
  /// A network that takes one picture (float32 [N,3,224,224]), and by how much a provider that
  /// joins requests must be faster.
  struct Network {
    std::string name;
    core::Path file;
    double limit = 0;
  };
  std::vector<Network> networks;
  std::size_t concurrency = 16;
  int rounds = 7;  // slices of each way, in an order that changes
  std::int64_t slice_ms = 4'000;
};

/// Requests of one row each, so many under way: the rate of a gateway and a provider that joins
/// those that wait, on two threads, beside the better of one that runs each alone, on one thread
/// and on two. Receipts are as ever; audits are off, since they cost both ways the same.
/// Thread-safety: one thread.
class BatchingBench {
 public:
  BatchingBench(BatchingOptions options, const core::Clock& clock);
  ~BatchingBench();
  /// Starts processes: before this one has threads. Errors: those of the parties.
  core::Result<void> begin();
  /// Likewise.
  core::Result<void> measure(Report& report);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::lab::bench::serve
