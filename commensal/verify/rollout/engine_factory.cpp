// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/pack_folder.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <commensal/verify/rollout/loaded.hpp>

namespace commensal::rollout {

core::Result<std::unique_ptr<Engine>> SessionEngineFactory::load(
    const core::Path& model_file, const std::vector<protocol::Feed>& feeds,
    const std::stop_token& cancel) {
  if (ready_thread_) ready_thread_();
  graph::SessionOptions options = options_;
  options.cancel = cancel;
  COMMENSAL_ASSIGN(auto file, core::MappedFile::open(model_file, limits::kModelBytesMax));
  if (options.packs != nullptr) {  // by the model's name, as its worker would have them
    options.packs =
        std::make_shared<const graph::PackFolder>(std::make_shared<graph::PackFilesOfModel>(
            options.packs->files(), crypto::sha256(file->bytes())));
  }
  COMMENSAL_ASSIGN(Loaded made, rollout::load(std::move(file), options, feeds));
  return std::make_unique<SessionEngine>(std::move(made.session), std::move(made.leaves));
}

void SessionEngineFactory::forget(const core::Digest& model) {
  if (options_.packs != nullptr)
    graph::PackFilesOfModel(options_.packs->files(), model).remove_all();
}

}  // namespace commensal::rollout
