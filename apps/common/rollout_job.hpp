// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/protocol/job.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::apps {

/// What every rollout is told, wherever it is computed.
struct RolloutJob {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> state;
  std::uint64_t steps = 100;
  std::string noise = "12";
  std::string states = "movable";
  double audit_probability = 0.01;
  bool streams = false;
  std::string output_dir;
  bool json = false;

  /// `model_help` says what the model is named by.
  void declare(CLI::App& app, const std::string& model_help);
};

/// The inputs that are given, and zeros for the rest, with 1 for each free dimension; in the
/// graph's order. Errors: those of reading them.
core::Result<tensor::NamedTensors> rollout_inputs(const graph::Graph& graph,
                                                  const std::vector<std::string>& given);
/// "any", "finite", "movable". Error: kInvalidArgument.
core::Result<protocol::StateRule> read_state_rule(const std::string& name);
/// "none", or 0 to 100. Error: kInvalidArgument.
core::Result<std::optional<int>> read_noise(const std::string& text);

}  // namespace commensal::apps
