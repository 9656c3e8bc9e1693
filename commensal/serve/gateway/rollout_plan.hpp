// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/privacy.hpp>
#include <commensal/serve/gateway/work.hpp>

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
  std::optional<int> noise_exponent = 12;  // none: without noise
  protocol::StateRule states = protocol::StateRule::kFinite;
  double audit_probability = 0.01;  // of each step; step 1 of 10 or more besides
  std::string privacy_class = {};   // that it names; "": none
};

/// A request that makes sense for its model.
struct RolloutPlan {
  RolloutRequest request;  // its inputs are the order's now
  Order order;
  std::vector<protocol::Feed> feeds;
};

/// Errors: kNotFound (model), kInvalidArgument, naming what was expected; class_for's.
core::Result<RolloutPlan> plan_rollout(RolloutRequest request, ModelHub& hub,
                                       const PrivacyAuditors& privacy);

/// Its job without money, and what opens c_0. `noise_key`: as rollout::noise_chain's.
rollout::JobRecord record_of(const RolloutPlan& plan, const core::Digest& input_salt,
                             const core::Digest& noise_key, const crypto::Address& client,
                             const crypto::Address& provider, const crypto::Address& auditor);
/// The same job for another provider, who can tell nothing from it of what the first was shown;
/// without money.
rollout::JobRecord record_for(rollout::JobRecord record, const core::Digest& input_salt,
                              const core::Digest& noise_key, const crypto::Address& provider);

}  // namespace commensal::gateway
