// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/train/step.hpp>
#include <string>
#include <vector>

namespace commensal::train {

struct Weight {
  std::string name;
  grad::Value value, gradient;
};

struct Update {
  std::vector<grad::Value> weights;  // the next ones
  struct Kept {
    std::string name;
    grad::Value next;
  };
  std::vector<Kept> kept;  // in the order in which inputs were added for them
};

/// Adds what the optimiser keeps to the graph's inputs, and the nodes of one step. Its order of
/// operations is that of docs/training.md.
Update add_update(grad::Maker& maker, const std::vector<Weight>& weights,
                  const StepRequest& request);

}  // namespace commensal::train
