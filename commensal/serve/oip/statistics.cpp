// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/oip/statistics.hpp>

namespace commensal::oip {

void Statistics::add(const Key& model, const Ended& ended) {
  const std::lock_guard lock(mutex_);
  auto found = models_.find(model);
  if (found == models_.end()) {
    if (models_.size() >= limits::kStatisticsMax) return;
    found = models_.emplace(model, ModelStatistics()).first;
  }
  ModelStatistics& its = found->second;
  const std::int64_t took_ns = ended.queued_ns + ended.inferred_ns;
  if (!ended.is_success) return its.failure.add(took_ns);
  its.last_inference_ms = ended.wall_ms;
  its.inferences += ended.rows;
  its.executions += ended.executions();
  its.success.add(took_ns);
  its.queue.add(ended.queued_ns);
  its.infer.add(ended.inferred_ns);
  if (!ended.runs || ended.runs->count == 0) return;
  const std::uint64_t rows = ended.runs->rows;
  if (!its.batches.contains(rows) && its.batches.size() >= limits::kBatchSizesMax) return;
  its.batches[rows].add(ended.runs->took_ns, ended.runs->count);
}

ModelStatistics Statistics::of(const Key& model) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  return found == models_.end() ? ModelStatistics() : found->second;
}

}  // namespace commensal::oip
