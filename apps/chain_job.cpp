// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/chain_job.hpp>
#include <apps/feeds.hpp>
#include <apps/inputs.hpp>
#include <charconv>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::apps {

using core::ErrorCode;
using core::Result;

Result<tensor::NamedTensors> chain_inputs(const graph::Graph& graph,
                                          const std::vector<std::string>& given_files) {
  graph::Graph given = graph;
  std::erase_if(given.inputs, [&](graph::ValueId id) {
    const std::string prefix = graph.name_of(id) + "=";
    return std::ranges::none_of(given_files,
                                [&](const std::string& text) { return text.starts_with(prefix); });
  });
  if (given.inputs.empty() && !given_files.empty()) given.inputs = graph.inputs;
  COMMENSAL_ASSIGN(const auto read, read_inputs(given, given_files, {}));
  tensor::NamedTensors inputs = receipt::name_tensors(given, given.inputs, read);
  for (const graph::ValueId id : graph.inputs) {
    if (std::ranges::find(given.inputs, id) != given.inputs.end()) continue;
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    std::vector<std::int64_t> dims = declared.dims;
    for (std::int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
    COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
    const tensor::TensorType type{declared.dtype, shape};
    const core::Bytes zeros(static_cast<std::size_t>(type.bytes()), 0);
    inputs.push_back({graph.name_of(id), tensor::Tensor::copy_of(type, zeros)});
  }
  // c_0 is over this order.
  COMMENSAL_ASSIGN(auto ordered, receipt::order_inputs(graph, inputs));
  return receipt::name_tensors(graph, graph.inputs, std::move(ordered));
}

Result<protocol::StateRule> read_state_rule(const std::string& name) {
  const auto names = protocol::enum_names(protocol::StateRule{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return core::fail(ErrorCode::kInvalidArgument, "--states '{}', expected any, finite, movable",
                      name);
  }
  return static_cast<protocol::StateRule>(found - names.begin());
}

Result<std::optional<int>> read_noise(const std::string& text) {
  if (text == "none") return std::optional<int>();
  int exponent = -1;
  const auto end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, exponent);
  if (failed == std::errc() && stopped == end && exponent >= 0 && exponent <= 100) {
    return std::optional<int>(exponent);
  }
  return core::fail(ErrorCode::kInvalidArgument, "--noise '{}', expected none, or 0 to 100", text);
}

Result<serial::Lies> read_cheats(const ChainJob& job) {
  serial::Lies lies;
  for (const std::string& text : job.cheats) {
    const std::size_t at = text.find_first_of("=@");
    std::uint64_t number = 0;
    const auto end = text.data() + (at == std::string::npos ? 0 : at);
    const auto [stopped, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc() || stopped != end || number < 1 || number > job.steps) {
      return core::fail(ErrorCode::kInvalidArgument,
                        "--cheat '{}', expected LINK=WEIGHT or COUNT@WEIGHT, with 1 to {}", text,
                        job.steps);
    }
    const std::string weight = text.substr(at + 1);
    if (text[at] == '=') {
      lies[number] = weight;
      continue;
    }
    for (const std::uint64_t link : serial::drawn_links(job.steps, number, job.seed)) {
      lies[link] = weight;
    }
  }
  return lies;
}

Result<serial::ChainOptions> world_options(const ChainJob& job, const core::Digest& secret) {
  serial::ChainOptions wanted;
  auto imported = graph::onnx::import_file(job.model);
  if (!imported) return core::in_context(fmt::format("'{}'", job.model), imported.error());
  wanted.graph = *imported;
  wanted.session = job.backend.session();
  COMMENSAL_ASSIGN(wanted.feeds, read_feeds(*wanted.graph, job.state));
  COMMENSAL_ASSIGN(wanted.inputs, chain_inputs(*wanted.graph, job.inputs));
  wanted.steps = job.steps;
  COMMENSAL_ASSIGN(wanted.states, read_state_rule(job.states));
  COMMENSAL_ASSIGN(wanted.noise_exponent, read_noise(job.noise));
  if (!wanted.noise_exponent && wanted.states == protocol::StateRule::kMovable) {
    wanted.states = protocol::StateRule::kFinite;
  }
  wanted.audit_probability = job.audit_probability;
  wanted.win_probability = job.win_probability;
  wanted.secret = secret;
  wanted.stops_at_mismatch = !job.keeps_going;
  return wanted;
}

}  // namespace commensal::apps
