// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/feeds.hpp>
#include <apps/common/inputs.hpp>
#include <apps/common/rollout_job.hpp>
#include <charconv>
#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::apps {

using core::ErrorCode;
using core::Result;

Result<tensor::NamedTensors> rollout_inputs(const graph::Graph& graph,
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

void RolloutJob::declare(CLI::App& app, const std::string& model_help) {
  app.add_option("model", model, model_help)->required();
  app.add_option("--state", state, "OUTPUT=INPUT, once for each output that is fed back")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--steps", steps, "Steps")
      ->check(CLI::Range(std::uint64_t{1}, limits::kRolloutStepsMax))
      ->capture_default_str();
  app.add_option("--input", inputs,
                 "NAME=FILE; inputs that are not given are zeros, free dimensions 1")
      ->allow_extra_args(false);
  app.add_option("--noise", noise,
                 "EXPONENT of the scale 2^-EXPONENT (see commensal calibrate), or none")
      ->capture_default_str();
  app.add_option("--states", states,
                 "Which states are allowed: any, finite, or movable by the noise")
      ->capture_default_str();
  app.add_option("--audit-probability", audit_probability,
                 "Of every step; step 1 of a rollout of 10 or more and winning tickets are audited "
                 "besides")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--stream", streams, "Print one line of JSON for each step as it is made");
  app.add_option("--output-dir", output_dir, "Folder for the last outputs, as NAME.npy");
  app.add_flag("--json", json, "Print JSON; exit status 2 if an audit found a mismatch");
}

}  // namespace commensal::apps
