// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/provider/engine.hpp>
#include <commensal/verify/chain/loaded.hpp>

namespace commensal::provider {

core::Result<std::unique_ptr<chain::Engine>> SessionEngineFactory::load(
    const core::Path& model_file, const std::vector<protocol::Feed>& feeds) {
  COMMENSAL_ASSIGN(chain::Loaded made, chain::load(model_file, options_, feeds));
  return std::make_unique<chain::SessionEngine>(std::move(made.session), made.roots);
}

}  // namespace commensal::provider
