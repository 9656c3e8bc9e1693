// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/scheduling.hpp>
#include <cstdint>
#include <map>
#include <optional>

/// What of a model's configuration is about requests that wait and are computed together:
/// dynamic_batching and instance_group.
namespace commensal::oip {

struct QueuePolicy {
  bool is_delayed = false;  // once its time is over, instead of rejected
  std::int64_t timeout_us = 0;
  bool may_override = false;  // a request may have less time
  std::uint32_t queue_max = 0;
};

struct BatchingConfig {
  std::optional<gateway::Batching> batching;  // none where batches are not counted
  std::uint32_t levels = 0;                   // of priority; 0: there are none
  std::uint32_t default_level = 0;
  QueuePolicy policy;
  std::map<std::uint32_t, QueuePolicy> policies;  // of levels that have their own
};

/// Of a request with this priority (0: it names none) and time-out, and how long somebody waits for
/// its answer.
struct Scheduled {
  gateway::Scheduling scheduling;
  bool is_deadline = true;  // the time-out is; else it is the queue's, and nothing ends by it
};
Scheduled schedule(const BatchingConfig& config, std::uint64_t priority, std::int64_t timeout_us);

}  // namespace commensal::oip
