// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/observe/ended.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace commensal::oip {

/// How often something was done, and how long that took in all.
struct Duration {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
  void add(std::int64_t took_ns, std::uint64_t times = 1) {
    count += times;
    ns += static_cast<std::uint64_t>(took_ns);
  }
};

/// Of one version of a model since the start, as Triton's statistics extension has it.
struct ModelStatistics {
  std::int64_t last_inference_ms = 0;  // wall clock; 0: none
  std::uint64_t inferences = 0;        // rows of batches
  std::uint64_t executions = 0;        // runs; requests, where their provider does not tell of runs
  Duration success;                    // from its parsed request until its receipt is durable
  Duration failure;
  Duration queue;  // until it was the account's turn on the gateway's loop
  Duration infer;  // behind that: a provider's queue, its work, the receipt
  /// Runs by their rows, as providers tell; limits::kBatchSizesMax of them.
  std::map<std::uint64_t, Duration> batches;
};

using observe::Ended;

/// Thread-safety: any thread.
class Statistics {
 public:
  using Key = std::pair<std::string, std::uint32_t>;  // "owner/model", version

  void add(const Key& model, const Ended& ended);
  ModelStatistics of(const Key& model) const;

 private:
  mutable std::mutex mutex_;
  std::map<Key, ModelStatistics>
      models_;  // at most limits::kStatisticsMax; later ones are not kept
};

}  // namespace commensal::oip
