// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/answer.hpp>
#include <commensal/verify/rollout/record.hpp>
#include <optional>

namespace commensal::gateway {

/// What a consumer asks for: `steps` steps of a model, each on the outputs of the one before.
struct RolloutRequest {
  Account account;
  std::string key;  // the consumer's own name for it: the same again asks for the same rollout
  std::string model;
  std::uint32_t version = 0;  // 0: the newest
  tensor::NamedTensors inputs;
  std::vector<std::pair<std::string, std::string>> feeds;  // output, input
  std::uint64_t steps = 0;
  std::optional<int> noise_exponent;  // none: without noise
  protocol::StateRule states = protocol::StateRule::kFinite;
  double audit_probability = 0;  // of each step; step 1 of 10 or more besides
};

/// A request that makes sense for its model.
struct RolloutPlan {
  RolloutRequest request;  // its inputs are the order's now
  Order order;
  std::vector<protocol::Feed> feeds;
};

/// What a rollout's client needs to know of a model: a graph that has these inputs and outputs, and
/// nothing between them.
std::shared_ptr<const graph::Graph> outline_of(const std::vector<ModelPort>& inputs,
                                               const std::vector<ModelPort>& outputs);

/// Errors: kNotFound (model), kInvalidArgument, naming what was expected.
core::Result<RolloutPlan> plan_rollout(RolloutRequest request, ModelHub& hub);

/// Its job without money, and what opens c_0. `noise_key`: as rollout::noise_chain's.
rollout::JobRecord record_of(const RolloutPlan& plan, const core::Digest& input_salt,
                             const core::Digest& noise_key, const crypto::Address& client,
                             const crypto::Address& provider, const crypto::Address& auditor);

}  // namespace commensal::gateway
