// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/rollout/advocate.hpp>

namespace commensal::sim {

/// How a cheat argues: it stands by what it put out. It runs the model as it should be, but for the
/// graph's outputs, which it overwrites, at the nodes that make them, by those of its answer; so it
/// can contest every word up to there, and loses by proof. Thread-safety: one thread.
class Stubborn {
 public:
  /// What it puts out, by whatever means.
  using Answer = std::function<core::Result<receipt::Values>(const receipt::Values& inputs)>;

  Stubborn(std::shared_ptr<const graph::Graph> exact,
           std::shared_ptr<const receipt::ModelLeaves> leaves, Answer answer);
  /// Errors: as Engine::argue.
  core::Result<rollout::Counsel> argue(const rollout::Argument& argument,
                                       const graph::RunOptions& options);

 private:
  core::Result<receipt::Values> run(const receipt::Values& inputs,
                                    const graph::RunOptions& options);

  std::shared_ptr<const graph::Graph> exact_;
  Answer answer_;
  std::optional<graph::Session> session_;  // once it has argued
  rollout::Advocate advocate_;
};

}  // namespace commensal::sim
