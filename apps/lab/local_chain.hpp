// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/backend_options.hpp>
#include <apps/common/chain_job.hpp>
#include <commensal/lab/serial/cheat.hpp>
#include <commensal/lab/serial/world.hpp>

namespace commensal::apps {

/// What `commensal-lab chain` is told: all parties of a chain in this process.
struct LocalChain {
  ChainJob job;
  double win_probability = 0.01;
  std::string folder;
  std::uint64_t seed = 0;
  std::vector<std::string> cheats;
  bool keeps_going = false;
  BackendOptions backend;
};

/// --cheat LINK=WEIGHT or COUNT@WEIGHT. Error: kInvalidArgument.
core::Result<serial::Lies> read_cheats(const LocalChain& chain);
/// All of it. Errors: those of reading what is given and of importing the model.
core::Result<serial::ChainOptions> world_options(const LocalChain& chain,
                                                 const core::Digest& secret);

}  // namespace commensal::apps
