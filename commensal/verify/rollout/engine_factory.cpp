// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/engine_factory.hpp>
#include <commensal/verify/rollout/loaded.hpp>

namespace commensal::rollout {

core::Result<std::unique_ptr<Engine>> SessionEngineFactory::load(
    const core::Path& model_file, const std::vector<protocol::Feed>& feeds,
    const std::stop_token& cancel) {
  if (ready_thread_) ready_thread_();
  graph::SessionOptions options = options_;
  options.cancel = cancel;
  COMMENSAL_ASSIGN(Loaded made, rollout::load(model_file, options, feeds));
  return std::make_unique<SessionEngine>(std::move(made.session), std::move(made.leaves));
}

}  // namespace commensal::rollout
