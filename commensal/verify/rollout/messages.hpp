// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/rollout/step.hpp>

namespace commensal::rollout {

// What client and provider of a rollout tell each other for one step, in this order. Each may be
// repeated after a crash of either side: the same question has the same answer.

/// Client: compute this step, with the noise that this value makes.
struct Begin {
  std::uint64_t step = 0;
  core::Digest value{};  // zero without noise
};
/// Provider: it led to this commitment.
struct Commit {
  std::uint64_t step = 0;
  core::Digest commitment{};
  std::uint64_t round = protocol::kNoDraw;  // of the beacon that draws this step's ticket
  protocol::BatchSignature signature;
};
/// Client: agreed, unseen.
struct Countersign {
  std::uint64_t step = 0;
  protocol::BatchSignature signature;
};
/// Provider: this is what the commitment hides.
struct Deliver {
  std::uint64_t step = 0;
  core::Digest output_salt{};
  tensor::NamedTensors outputs;
};

}  // namespace commensal::rollout
