// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/backend_options.hpp>
#include <apps/common/rollout_job.hpp>
#include <commensal/lab/serial/cheat.hpp>
#include <commensal/lab/serial/local_rollout.hpp>

namespace commensal::apps {

/// What `commensal-lab rollout` is told: all parties of a rollout in this process.
struct LocalRolloutJob {
  RolloutJob job;
  double win_probability = 0.01;
  std::string folder;
  std::uint64_t seed = 0;
  std::vector<std::string> cheats;
  bool keeps_going = false;
  BackendOptions backend;
};

/// --cheat STEP=WEIGHT or COUNT@WEIGHT. Error: kInvalidArgument.
core::Result<serial::Lies> read_cheats(const LocalRolloutJob& rollout);
/// All of it. Errors: those of reading what is given and of importing the model.
core::Result<serial::RolloutOptions> rollout_options(const LocalRolloutJob& rollout,
                                                     const core::Digest& secret);

}  // namespace commensal::apps
