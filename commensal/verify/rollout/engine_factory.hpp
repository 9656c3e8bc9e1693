// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/verify/rollout/engine.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace commensal::rollout {

/// What makes a model's file ready to run. The face behind which lab/'s adversaries differ from an
/// honest provider. Thread-safety: one thread at a time.
class EngineFactory {
 public:
  virtual ~EngineFactory() = default;
  /// For jobs that feed these outputs back; none: of one step. Once `cancel` is asked to stop it
  /// ends. Errors: those of importing the model (what it holds outside its file is refused) and of
  /// noise::NoisySession, kCancelled.
  virtual core::Result<std::unique_ptr<Engine>> load(const core::Path& model_file,
                                                     const std::vector<protocol::Feed>& feeds,
                                                     const std::stop_token& cancel = {}) = 0;
  /// What is kept on disk of this model for the next load goes.
  virtual void forget(const core::Digest& /*model*/) {}
};

/// The honest one: what the numeric specification says.
class SessionEngineFactory final : public EngineFactory {
 public:
  /// `ready_thread` is called on the thread that is to load and run an engine; an engine's own
  /// threads are its children.
  explicit SessionEngineFactory(graph::SessionOptions options,
                                std::function<void()> ready_thread = {})
      : options_(options), ready_thread_(std::move(ready_thread)) {}
  core::Result<std::unique_ptr<Engine>> load(const core::Path& model_file,
                                             const std::vector<protocol::Feed>& feeds,
                                             const std::stop_token& cancel = {}) override;
  void forget(const core::Digest& model) override;

 private:
  graph::SessionOptions options_;
  std::function<void()> ready_thread_;
};

}  // namespace commensal::rollout
