// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/memory_budget.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <mutex>
#include <string>

namespace commensal::gateway {

/// What one account of a gateway may have. An operator's has no bounds but those of memory.
struct QuotaConfig {
  double requests_per_s = 2'000;  // on average; at once as many as in two seconds, or a few
  ModelBounds models;
  std::uint32_t rollouts_max = 16;                        // running
  std::int64_t memory_bytes_max = std::int64_t{4} << 30;  // of all accounts' requests and answers
};

/// Who may have how much: see QuotaConfig. Refusals are kResourceExhausted and say when to come
/// again or what to give up. Thread-safety: any thread.
class Quotas {
 public:
  explicit Quotas(const QuotaConfig& config);

  /// One more request, at this time (monotonic).
  core::Result<void> admit(const Account& account, std::int64_t now_ns);
  /// After that one more is, for who was refused.
  int wait_s() const;
  /// Requests, and answers until they are read; a quarter is the most of one account, in a quarter
  /// of the connections.
  core::MemoryBudget& memory() { return memory_; }
  /// Openings in files that are being sent, which stay on the disk until then; shares as above.
  core::MemoryBudget& files() { return files_; }
  const QuotaConfig& config() const { return config_; }

 private:
  const QuotaConfig config_;
  core::MemoryBudget memory_, files_;
  std::mutex mutex_;
  core::Rates<std::string> rates_;  // by account; guarded by mutex_
};

}  // namespace commensal::gateway
