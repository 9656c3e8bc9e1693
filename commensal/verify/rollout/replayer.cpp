// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/replayer.hpp>

namespace commensal::rollout {

core::Result<Engine*> Replayer::engine(const protocol::Job& job, const core::Path& model,
                                       const std::stop_token& cancel) {
  const Key key{{job.graph_root, job.weight_root}, job.feeds};
  if (const auto* const found = loaded_.find(key)) return found->get();
  COMMENSAL_ASSIGN(auto made, engines_->load(model, job.feeds, cancel));
  return loaded_.add(key, std::move(made)).get();
}

core::Result<core::Digest> Replayer::replay(const receipt::StepTask& task, const core::Path& model,
                                            const graph::RunOptions& options) {
  COMMENSAL_ASSIGN(Engine* const engine, this->engine(task.job, model, options.cancel));
  const auto compute = [&](const receipt::Values& inputs,
                           const std::optional<noise::Noise>& noise) {
    return engine->run(task.step, inputs, noise, options);
  };
  return receipt::replay(task, engine->graph(), engine->roots(), compute);
}

}  // namespace commensal::rollout
