// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/verify/rollout/engine.hpp>
#include <functional>
#include <memory>

namespace commensal::worker {

/// What a worker's program brings along.
struct Inside {
  /// The pacer of this worker's threads, by what the parent's pacer shows (process_engine.hpp); it
  /// counts those that it holds in `resting`, and holds none of a run that is cancelled. Called
  /// before the worker is confined, where the parent has such a page; without it, or where it makes
  /// none, such a parent's worker loads nothing.
  std::function<std::unique_ptr<core::Pacer>(core::Descriptor page,
                                             std::atomic<std::int32_t>& resting,
                                             std::function<bool()> is_cancelled)>
      pacer;
  /// Makes the engine; nothing: rollout::load. Called once it is confined.
  std::function<core::Result<std::unique_ptr<rollout::Engine>>(
      std::shared_ptr<const core::MappedFile> model, const graph::SessionOptions& session,
      const std::vector<protocol::Feed>& feeds)>
      engine;
};

/// All that a worker's process does, from its first line to its last: takes its place at the
/// descriptors that its parent has left it, is confined, loads the model and computes until the
/// parent is gone. To be called with no other thread. Returns the exit status.
int work(const Inside& inside);

}  // namespace commensal::worker
