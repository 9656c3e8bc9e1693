// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/rollout/engine_factory.hpp>
#include <memory>
#include <string_view>

/// Providers that lie about a training (compute/train/segment.hpp), and are honest in all else; for
/// demonstrations, tests and simulations.
namespace commensal::sim {

enum class TrainingLie : std::uint8_t {
  kWrongStep,    // one bit of one weight, in one segment
  kSkippedStep,  // the last step of each segment is not made, though it is counted
  kOtherRate,    // the weights move twice as far
  kOtherData,    // each sample stands for the one before it
  kNanLoss,      // the state is right, its losses are none
  kOtherCount,   // the state is right, but for how many steps it says
};
std::span<const std::string_view> enum_names(TrainingLie);

/// Lies from this segment on (kWrongStep: in it alone), and stands by it in disputes. `rate` is
/// what kOtherRate doubles wherever it is a constant of the model. Its factory's errors besides
/// those of an honest one: kUnsupported (a model in which it finds nothing to lie about).
struct TrainingCheatRequest {
  TrainingLie lie = TrainingLie::kWrongStep;
  std::uint64_t from = 1;
  double rate = 0;
};
std::unique_ptr<rollout::EngineFactory> make_training_cheat(const TrainingCheatRequest& request);

}  // namespace commensal::sim
