// SPDX-License-Identifier: Apache-2.0
// What jobs have to do with the models in the cache: fetched ahead, held, let go of.
#include <algorithm>
#include <commensal/serve/provider/jobs.hpp>
#include <filesystem>

namespace commensal::provider {

/// One at a time, and only where nothing else has to go for it: what is used is not let go of for
/// what may be.
bool Jobs::may_prefetch(const rpc::Prefetch& message) const {
  return closed_.empty() && !prefetched_ && message.bytes <= deps_.cache.room_bytes() &&
         !std::filesystem::exists(deps_.cache.path_of(message.model));
}

void Jobs::handle(const rpc::Prefetch& message) {
  (void)deps_.holdings.take_back(holding_of(message.model));
  if (!may_prefetch(message)) return report_load();
  prefetched_ = message.model;
  deps_.loop.offload(
      core::Loop::Lane::kFiles,
      [executor = executor_, model = message.model, path = deps_.cache.path_of(message.model),
       token = session_token_] { executor->prefetch(model, path, token); },
      [weak = weak_from_this(), model = message.model] {
        if (const auto self = weak.lock()) self->prefetched(model);
      });
}

void Jobs::prefetched(const core::Digest& model) {
  prefetched_.reset();
  const bool is_used =
      std::ranges::any_of(computing_, [&](const auto& item) { return item.first->model == model; });
  if (!is_used) deps_.cache.keep(model);  // else it is touched
  (void)deps_.holdings.use(holding_of(model));
  report_load();
}

bool Jobs::uses(const core::Digest& model) const {
  const auto is_computed = [&](const auto& item) { return item.first->model == model; };
  return prefetched_ == model || std::ranges::any_of(computing_, is_computed) ||
         std::ranges::any_of(ready_, [&](const LiveJobPtr& live) { return live->model == model; });
}

Holdings::Key Jobs::holding_of(const core::Digest& model) const {
  return {model, gateway_};
}

/// What is not noted any gateway may have removed: it would be fetched again.
void Jobs::hold(const core::Digest& model) {
  deps_.cache.touch(model);
  (void)deps_.holdings.use(holding_of(model));
}

/// Where this cannot be written the answer, which comes after it, is not either.
void Jobs::owe(const LiveJob& live) {
  const protocol::Job& job = live.job->job();
  if (job.beacons.empty() || !live.model) return;
  const auto now_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(deps_.clock.wall_ms(), 0));
  (void)deps_.holdings.owe(holding_of(*live.model), job.valid_until_ms, now_ms);
}

}  // namespace commensal::provider
