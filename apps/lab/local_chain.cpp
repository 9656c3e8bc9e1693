// SPDX-License-Identifier: Apache-2.0
#include <apps/common/feeds.hpp>
#include <apps/lab/local_chain.hpp>
#include <charconv>
#include <commensal/compute/graph/onnx/import.hpp>

namespace commensal::apps {

using core::Result;

Result<serial::Lies> read_cheats(const LocalChain& chain) {
  serial::Lies lies;
  for (const std::string& text : chain.cheats) {
    const std::size_t at = text.find_first_of("=@");
    std::uint64_t number = 0;
    const auto end = text.data() + (at == std::string::npos ? 0 : at);
    const auto [stopped, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc() || stopped != end || number < 1 || number > chain.job.steps) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "--cheat '{}', expected LINK=WEIGHT or COUNT@WEIGHT, with 1 to {}", text,
                        chain.job.steps);
    }
    const std::string weight = text.substr(at + 1);
    if (text[at] == '=') {
      lies[number] = weight;
      continue;
    }
    for (const std::uint64_t link : serial::drawn_links(chain.job.steps, number, chain.seed)) {
      lies[link] = weight;
    }
  }
  return lies;
}

Result<serial::ChainOptions> world_options(const LocalChain& chain, const core::Digest& secret) {
  serial::ChainOptions wanted;
  auto imported = graph::onnx::import_file(chain.job.model);
  if (!imported) return core::in_context(fmt::format("'{}'", chain.job.model), imported.error());
  wanted.graph = *imported;
  wanted.session = chain.backend.session();
  COMMENSAL_ASSIGN(wanted.feeds, read_feeds(*wanted.graph, chain.job.state));
  COMMENSAL_ASSIGN(wanted.inputs, chain_inputs(*wanted.graph, chain.job.inputs));
  wanted.steps = chain.job.steps;
  COMMENSAL_ASSIGN(wanted.states, read_state_rule(chain.job.states));
  COMMENSAL_ASSIGN(wanted.noise_exponent, read_noise(chain.job.noise));
  if (!wanted.noise_exponent && wanted.states == protocol::StateRule::kMovable) {
    wanted.states = protocol::StateRule::kFinite;
  }
  wanted.audit_probability = chain.job.audit_probability;
  wanted.win_probability = chain.win_probability;
  wanted.secret = secret;
  wanted.stops_at_mismatch = !chain.keeps_going;
  return wanted;
}

}  // namespace commensal::apps
