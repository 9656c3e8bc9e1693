// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/verify/rollout/engine.hpp>

namespace commensal::rollout {

using core::Result;
using receipt::Values;

std::vector<Result<Values>> Engine::run_all(std::span<const Values> requests,
                                            const graph::RunOptions& options) {
  std::vector<Result<Values>> answers;
  for (const Values& inputs : requests) {
    answers.push_back(run(1, inputs, std::nullopt, options));
  }
  return answers;
}

Result<Counsel> Engine::argue(const Argument&, const graph::RunOptions&) {
  return core::fail(core::ErrorCode::kUnsupported, "this engine plays no disputes");
}

SessionEngine::SessionEngine(noise::NoisySession session,
                             std::shared_ptr<const receipt::ModelLeaves> leaves)
    : session_(std::move(session)),
      joins_(graph::batching_objection(session_.graph()).empty()),
      roots_(receipt::model_roots(*leaves)),
      advocate_(session_.session(), std::move(leaves), session_.pacer()) {}

bool SessionEngine::has_made_room(const Result<Values>& answer) {
  const bool is_short = !answer && answer.error().code == core::ErrorCode::kResourceExhausted;
  if (!is_short || !advocate_.keeps()) return false;
  advocate_.forget();
  return true;
}

Result<Values> SessionEngine::run(std::uint64_t, const Values& inputs,
                                  const std::optional<noise::Noise>& noise,
                                  const graph::RunOptions& options) {
  auto made = session_.run(inputs, noise, options);
  return has_made_room(made) ? session_.run(inputs, noise, options) : made;
}

std::vector<Result<Values>> SessionEngine::run_all(std::span<const Values> requests,
                                                   const graph::RunOptions& options) {
  auto made = joint_.run(requests, options);
  const bool again =
      std::ranges::any_of(made, [this](const auto& answer) { return has_made_room(answer); });
  return again ? joint_.run(requests, options) : std::move(made);
}

Result<Counsel> SessionEngine::argue(const Argument& argument, const graph::RunOptions& options) {
  return advocate_.argue(argument, options);
}

}  // namespace commensal::rollout
