// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/training/context.hpp>
#include <commensal/serve/client/training/rollout_steps.hpp>
#include <functional>
#include <memory>
#include <optional>

// Inside the room: rollouts that a training's segments are made in, as the gateway lists them.
namespace commensal::training {

/// A rollout, and the steps of the training that were done before it.
struct Rollout {
  client::RolloutInfo info;
  std::int64_t began = 0;
  core::Digest from = {};  // root of the state that it began from, once that is known
  std::optional<tensor::NamedTensors> inputs = {};  // where this run knows them
  std::shared_ptr<RolloutSteps> steps = {};         // where one was looked at
  bool was_over = info.is_over();                   // when this run heard of it first
  std::uint64_t made_before = info.steps_done;      // likewise
};

/// Where all segments are to be audited, those that are not are as good as none.
client::RolloutInfo believed(client::RolloutInfo info, bool audits_all);

/// Why it has not come further, and why it is not believed as far as it was; for people.
std::string why_ended(const client::RolloutInfo& info);
std::string why_fallen(const client::RolloutInfo& info);

/// Whether a question was not answered, which says nothing of what was asked about.
bool is_away(const core::Error& error);

/// Those of the account that make segments of this model, the furthest that can be believed first.
/// Errors: the gateway's.
core::Result<std::vector<Rollout>> list_begun(Context& context, const SegmentModel& model);

/// What `info` has delivered; `inputs` as RolloutSteps'.
std::shared_ptr<RolloutSteps> steps_of(Context& context, const SegmentModel& model,
                                       const client::RolloutInfo& info,
                                       std::optional<tensor::NamedTensors> inputs);

/// Whether it has delivered a state after `done` steps that `is_it` knows by a segment's outputs;
/// then `steps` and `from` are known. What cannot be read is not it. Errors: is_away().
core::Result<bool> leads_to(Context& context, const SegmentModel& model, Rollout& rollout,
                            std::int64_t done,
                            const std::function<bool(const tensor::NamedTensors&)>& is_it);

}  // namespace commensal::training
