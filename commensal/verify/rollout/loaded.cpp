// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/rollout/loaded.hpp>

namespace commensal::rollout {

core::Result<Loaded> load(const core::Path& model_file, const graph::SessionOptions& options,
                          const std::vector<protocol::Feed>& feeds) {
  COMMENSAL_ASSIGN(auto file, core::MappedFile::open(model_file, limits::kModelBytesMax));
  return load(std::move(file), options, feeds);
}

core::Result<Loaded> load(std::shared_ptr<const core::MappedFile> model_file,
                          const graph::SessionOptions& options,
                          const std::vector<protocol::Feed>& feeds) {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(std::move(model_file)));
  COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(graph, options, feeds));
  return Loaded{std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(*graph)),
                std::move(session)};
}

}  // namespace commensal::rollout
