// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/chain/replayer.hpp>

namespace commensal::chain {

core::Result<Replayer::Loaded*> Replayer::loaded(const protocol::Job& job,
                                                 const core::Path& model) {
  const Key key{{job.graph_root, job.weight_root}, job.feeds};
  if (Loaded* const found = loaded_.find(key)) return found;
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model));
  COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(graph, {}, job.feeds));
  return &loaded_.add(key, {receipt::model_roots(*graph), std::move(session)});
}

core::Result<core::Digest> Replayer::replay(const LinkTask& task, const core::Path& model) {
  COMMENSAL_ASSIGN(Loaded* const ready, loaded(task.job, model));
  return chain::replay(task, ready->session, ready->roots);
}

}  // namespace commensal::chain
