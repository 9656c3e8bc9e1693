// SPDX-License-Identifier: Apache-2.0
#include <apps/common/feeds.hpp>
#include <apps/lab/local_rollout.hpp>
#include <charconv>
#include <commensal/compute/graph/onnx/import.hpp>

namespace commensal::apps {

using core::Result;

Result<serial::Lies> read_cheats(const LocalRolloutJob& rollout) {
  serial::Lies lies;
  for (const std::string& text : rollout.cheats) {
    const std::size_t at = text.find_first_of("=@");
    std::uint64_t number = 0;
    const auto end = text.data() + (at == std::string::npos ? 0 : at);
    const auto [stopped, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc() || stopped != end || number < 1 || number > rollout.job.steps) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "--cheat '{}', expected STEP=WEIGHT or COUNT@WEIGHT, with 1 to {}", text,
                        rollout.job.steps);
    }
    const std::string weight = text.substr(at + 1);
    if (text[at] == '=') {
      lies[number] = weight;
      continue;
    }
    for (const std::uint64_t step : serial::drawn_steps(rollout.job.steps, number, rollout.seed)) {
      lies[step] = weight;
    }
  }
  return lies;
}

Result<serial::RolloutOptions> rollout_options(const LocalRolloutJob& rollout,
                                               const core::Digest& secret) {
  serial::RolloutOptions wanted;
  auto imported = graph::onnx::import_file(rollout.job.model);
  if (!imported) return core::in_context(fmt::format("'{}'", rollout.job.model), imported.error());
  wanted.graph = *imported;
  wanted.session = rollout.backend.session();
  COMMENSAL_ASSIGN(wanted.feeds, read_feeds(*wanted.graph, rollout.job.state));
  COMMENSAL_ASSIGN(wanted.inputs, rollout_inputs(*wanted.graph, rollout.job.inputs));
  wanted.steps = rollout.job.steps;
  COMMENSAL_ASSIGN(wanted.states, read_state_rule(rollout.job.states));
  COMMENSAL_ASSIGN(wanted.noise_exponent, read_noise(rollout.job.noise));
  if (!wanted.noise_exponent && wanted.states == protocol::StateRule::kMovable) {
    wanted.states = protocol::StateRule::kFinite;
  }
  wanted.audit_probability = rollout.job.audit_probability;
  wanted.win_probability = rollout.win_probability;
  wanted.secret = secret;
  wanted.stops_at_mismatch = !rollout.keeps_going;
  return wanted;
}

}  // namespace commensal::apps
