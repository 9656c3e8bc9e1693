// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/engine.hpp>

namespace commensal::rollout {

std::vector<core::Result<receipt::Values>> Engine::run_all(
    std::span<const receipt::Values> requests, const graph::RunOptions& options) {
  std::vector<core::Result<receipt::Values>> answers;
  for (const receipt::Values& inputs : requests) {
    answers.push_back(run(1, inputs, std::nullopt, options));
  }
  return answers;
}

}  // namespace commensal::rollout
