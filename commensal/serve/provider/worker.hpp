// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/provider/engine.hpp>
#include <commensal/serve/rpc/link.hpp>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace commensal::provider {

/// What the worker makes of a task.
struct Answer {
  tensor::NamedTensors outputs;
  core::Digest output_root;
};

/// The part of a provider that runs off the loop: fetches models, keeps the engines that were used
/// last, checks that a job is what it says, and computes.
/// Thread-safety: one task at a time (core::Loop::offload).
class Worker {
 public:
  Worker(EngineFactory& engines, rpc::GatewayClient& gateway)
      : engines_(engines), gateway_(gateway) {}

  /// `model_path` is where the model's file lies or shall lie.
  /// Errors: kFailedPrecondition (the job's roots, c_0 or numeric version are not these), and what
  /// fetching, loading and running return.
  core::Result<Answer> run(const rpc::Task& task, const std::string& session_token,
                           const core::Path& model_path);
  /// The same for tasks of one model, at least one, which the engine may run together.
  std::vector<core::Result<Answer>> run_all(std::span<const rpc::Task* const> tasks,
                                            const std::string& session_token,
                                            const core::Path& model_path);

 private:
  struct Loaded {
    core::Digest model;
    std::shared_ptr<Engine> engine;
  };
  core::Result<std::shared_ptr<Engine>> engine_for(const core::Digest& model,
                                                   const std::string& session_token,
                                                   const core::Path& model_path);

  EngineFactory& engines_;
  rpc::GatewayClient& gateway_;
  std::list<Loaded> loaded_;  // youngest first
};

}  // namespace commensal::provider
