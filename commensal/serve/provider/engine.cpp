// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/provider/engine.hpp>
#include <commensal/verify/rollout/loaded.hpp>

namespace commensal::provider {

core::Result<std::unique_ptr<rollout::Engine>> SessionEngineFactory::load(
    const core::Path& model_file, const std::vector<protocol::Feed>& feeds) {
  if (ready_thread_) ready_thread_();
  COMMENSAL_ASSIGN(rollout::Loaded made, rollout::load(model_file, options_, feeds));
  return std::make_unique<rollout::SessionEngine>(std::move(made.session), made.roots);
}

}  // namespace commensal::provider
