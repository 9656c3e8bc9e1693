// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/recently_used.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/loaded.hpp>

namespace commensal::rollout {

/// Replays steps of any job: keeps the models that it used last.
/// Thread-safety: one thread at a time.
class Replayer {
 public:
  /// replay() of the task; `model` is its file, imported where it is not kept.
  /// Errors: as replay(), those of importing the model.
  core::Result<core::Digest> replay(const receipt::StepTask& task, const core::Path& model,
                                    const graph::RunOptions& options = {});

 private:
  struct Key {
    receipt::ModelRoots roots;
    std::vector<protocol::Feed> feeds;
    bool operator==(const Key&) const = default;
  };
  core::Result<Loaded*> loaded(const protocol::Job& job, const core::Path& model);

  core::RecentlyUsed<Key, Loaded> loaded_{limits::kEnginesMax};
};

}  // namespace commensal::rollout
