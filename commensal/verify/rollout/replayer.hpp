// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/recently_used.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>

namespace commensal::rollout {

/// Replays steps of any job: keeps the engines that it used last.
/// Thread-safety: one thread at a time.
class Replayer {
 public:
  explicit Replayer(std::shared_ptr<EngineFactory> engines) : engines_(std::move(engines)) {}

  /// replay() of the task; `model` is its file, loaded where it is not kept.
  /// Errors: as replay(), those of the engines.
  core::Result<core::Digest> replay(const receipt::StepTask& task, const core::Path& model,
                                    const graph::RunOptions& options = {});
  /// The engine that it replays steps of this job by, for what else is done with it; it is there
  /// until others are asked for. Errors: those of the engines.
  core::Result<Engine*> engine(const protocol::Job& job, const core::Path& model,
                               const std::stop_token& cancel);

 private:
  struct Key {
    receipt::ModelRoots roots;
    std::vector<protocol::Feed> feeds;
    bool operator==(const Key&) const = default;
  };
  std::shared_ptr<EngineFactory> engines_;
  core::RecentlyUsed<Key, std::unique_ptr<Engine>> loaded_{limits::kEnginesMax};
};

}  // namespace commensal::rollout
