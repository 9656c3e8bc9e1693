// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/train/trainer.hpp>
#include <commensal/serve/client/training/segment_model.hpp>
#include <optional>

// Inside the room: rollouts that a training's segments are made in. Pure functions.
namespace commensal::training {

/// A rollout, and the steps of the training that were done before it.
struct Rollout {
  client::RolloutInfo info;
  std::int64_t began = 0;
  std::optional<tensor::NamedTensors> inputs = {};  // where this run knows them
  bool was_over = false;                            // when this run heard of it first
  std::uint64_t made_before = info.steps_done;      // likewise
};

/// Where all segments are to be audited, those that are not are as good as none.
client::RolloutInfo believed(client::RolloutInfo info, bool audits_all);

/// Why it has not come further; for people.
std::string why_ended(const client::RolloutInfo& info);

/// Of a training that goes on from a checkpoint: what began before it and is further, or may be.
/// `list`: the account's rollouts whose keys begin with the model's. Error: kFailedPrecondition
/// (its provider was caught since, and nobody vouches for the checkpoint).
core::Result<std::optional<Rollout>> find_begun(std::vector<client::RolloutInfo> list,
                                                const train::Trainer& trainer,
                                                const SegmentModel& model, bool audits_all);

/// What its rollouts' keys begin with; behind it the steps that were done before, and a number.
std::string key_prefix(const SegmentModel& model);

/// A checkpoint cannot be gone back from. Always an error: kFailedPrecondition.
tl::unexpected<core::Error> rests_on(const train::Trainer& trainer,
                                     const crypto::Address& provider);

}  // namespace commensal::training
