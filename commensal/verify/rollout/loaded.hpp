// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <vector>

namespace commensal::rollout {

/// A model out of its file, ready to run jobs that feed these outputs back.
struct Loaded {
  std::shared_ptr<const receipt::ModelLeaves> leaves;  // its weights are hashed once
  noise::NoisySession session;
};
/// What a model holds outside its file is refused: models come from anybody, and their files lie
/// beside each other. Errors: those of importing the model and of NoisySession::create.
core::Result<Loaded> load(std::shared_ptr<const core::MappedFile> model_file,
                          const graph::SessionOptions& options,
                          const std::vector<protocol::Feed>& feeds);
core::Result<Loaded> load(const core::Path& model_file, const graph::SessionOptions& options,
                          const std::vector<protocol::Feed>& feeds);

}  // namespace commensal::rollout
