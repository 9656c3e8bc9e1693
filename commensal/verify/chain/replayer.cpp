// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/chain/replayer.hpp>

namespace commensal::chain {

core::Result<Replayer::Loaded*> Replayer::loaded(const protocol::Job& job,
                                                 const core::Path& model) {
  const receipt::ModelRoots wanted{job.graph_root, job.weight_root};
  const auto found = std::ranges::find_if(loaded_, [&](const Loaded& item) {
    return item.roots == wanted && item.session.feeds() == job.feeds;
  });
  if (found != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, found);
    return &loaded_.front();
  }
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model));
  COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(graph, {}, job.feeds));
  if (loaded_.size() >= limits::kEnginesMax) loaded_.pop_back();
  loaded_.push_front({receipt::model_roots(*graph), std::move(session)});
  return &loaded_.front();
}

core::Result<core::Digest> Replayer::replay(const LinkTask& task, const core::Path& model) {
  COMMENSAL_ASSIGN(Loaded* const ready, loaded(task.job, model));
  return chain::replay(task, ready->session, ready->roots);
}

}  // namespace commensal::chain
