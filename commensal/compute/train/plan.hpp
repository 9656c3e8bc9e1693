// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/train/data.hpp>
#include <commensal/compute/train/step.hpp>
#include <map>

namespace commensal::train {

/// What a training is: the YAML file of docs/training.md. Paths are relative to the file's folder.
struct Plan {
  core::Path model;
  std::map<std::string, Source> data;  // by the model's input; "target" is the loss's
  Loss loss;
  Optimiser optimiser;
  Schedule schedule;
  std::vector<std::string> weights;  // none: trained_weights()
  std::int64_t steps = 100, batch = 32;
  std::uint64_t seed = 1;
  core::Path checkpoint;     // none: nothing is kept
  std::int64_t every = 100;  // steps between two checkpoints
};

/// Errors, one line each, naming the key and what was expected: kInvalidArgument; of the file.
core::Result<Plan> read_plan(const core::Path& path);
core::Result<Plan> parse_plan(const std::string& text, const core::Path& folder);

}  // namespace commensal::train
