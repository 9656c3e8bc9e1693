// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/replayer.hpp>

namespace commensal::rollout {

core::Result<Loaded*> Replayer::loaded(const protocol::Job& job, const core::Path& model) {
  const Key key{{job.graph_root, job.weight_root}, job.feeds};
  if (Loaded* const found = loaded_.find(key)) return found;
  COMMENSAL_ASSIGN(Loaded made, load(model, {}, job.feeds));
  return &loaded_.add(key, std::move(made));
}

core::Result<core::Digest> Replayer::replay(const receipt::StepTask& task, const core::Path& model,
                                            const graph::RunOptions& options) {
  COMMENSAL_ASSIGN(Loaded* const ready, loaded(task.job, model));
  return receipt::replay(task, ready->session, ready->roots, options);
}

}  // namespace commensal::rollout
