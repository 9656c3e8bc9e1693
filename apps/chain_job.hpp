// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/backend_options.hpp>
#include <apps/connection.hpp>
#include <commensal/lab/serial/cheat.hpp>
#include <commensal/lab/serial/world.hpp>

namespace commensal::apps {

/// What `commensal chain` is told.
struct ChainJob {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> state;
  std::uint64_t steps = 100;
  std::string noise = "12";
  std::string states = "movable";
  double audit_probability = 0.01;
  double win_probability = 0.01;
  std::string folder;
  std::uint64_t seed = 0;
  std::vector<std::string> cheats;
  bool keeps_going = false;
  bool streams = false;
  std::string output_dir;
  BackendOptions backend;
  bool json = false;
  Connection connection;  // --gateway: not in this process, but by the gateway's providers
  std::string key;
};

/// The inputs that are given, and zeros for the rest, with 1 for each free dimension; in the
/// graph's order. Errors: those of reading them.
core::Result<tensor::NamedTensors> chain_inputs(const graph::Graph& graph,
                                                const std::vector<std::string>& given);
/// "any", "finite", "movable". Error: kInvalidArgument.
core::Result<protocol::StateRule> read_state_rule(const std::string& name);
/// "none", or 0 to 100. Error: kInvalidArgument.
core::Result<std::optional<int>> read_noise(const std::string& text);
/// --cheat LINK=WEIGHT or COUNT@WEIGHT. Error: kInvalidArgument.
core::Result<serial::Lies> read_cheats(const ChainJob& job);
/// All of it, for a chain in this process. Errors: those of the above and of importing the model.
core::Result<serial::ChainOptions> world_options(const ChainJob& job, const core::Digest& secret);

}  // namespace commensal::apps
