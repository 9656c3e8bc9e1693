// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/provider/engine.hpp>

namespace commensal::provider {

core::Result<std::unique_ptr<chain::Engine>> SessionEngineFactory::load(
    const core::Path& model_file, const std::vector<protocol::Feed>& feeds) {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model_file));
  COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(graph, options_, feeds));
  return std::make_unique<chain::SessionEngine>(std::move(session), receipt::model_roots(*graph));
}

}  // namespace commensal::provider
