// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/train/adapters.hpp>
#include <commensal/compute/train/data.hpp>
#include <commensal/compute/train/step.hpp>
#include <map>
#include <optional>

namespace commensal::train {

/// By the model's input; "target" is the loss's.
using Sources = std::map<std::string, Source>;

/// What a training is: the YAML file of docs/training.md. Paths are relative to the file's folder.
struct Plan {
  core::Path model;
  Sources data;
  Loss loss;
  Optimiser optimiser;
  Schedule schedule;
  std::vector<std::string> weights;  // names and patterns; none: trained_weights()
  std::int64_t steps = 100;
  std::int64_t batch = 32;      // samples of a step
  std::int64_t accumulate = 1;  // parts of a batch, one after another
  std::uint64_t seed = 1;
  core::Path checkpoint;     // none: nothing is kept
  std::int64_t every = 100;  // steps between two checkpoints
  Recompute recompute;
  std::optional<Adapters> adapters;
  struct HeldOut {
    Sources data;              // or
    std::int64_t last = 0;     // of the training's own samples, which are not trained on
    std::int64_t every = 100;  // steps between two evaluations
  };
  std::optional<HeldOut> evaluate;
};

/// Errors, one line each, naming the key and what was expected: kInvalidArgument; of the file.
core::Result<Plan> read_plan(const core::Path& path);
core::Result<Plan> parse_plan(const std::string& text, const core::Path& folder);

/// All that such a file may say: "model", "loss.output", with * for any name ("data.*").
std::vector<std::string> plan_keys();

}  // namespace commensal::train
