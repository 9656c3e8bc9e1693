// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/answer.hpp>
#include <commensal/verify/chain/record.hpp>
#include <optional>

namespace commensal::gateway {

/// What a consumer asks for: `steps` links of a model, each on the outputs of the one before.
struct ChainRequest {
  Account account;
  std::string key;  // the consumer's own name for it: the same again asks for the same chain
  std::string model;
  std::uint32_t version = 0;  // 0: the newest
  tensor::NamedTensors inputs;
  std::vector<std::pair<std::string, std::string>> feeds;  // output, input
  std::uint64_t steps = 0;
  std::optional<int> noise_exponent;  // none: without noise
  protocol::StateRule states = protocol::StateRule::kFinite;
  double audit_probability = 0;  // of each link; link 1 of 10 or more besides
};

/// A request that makes sense for its model.
struct ChainPlan {
  ChainRequest request;  // its inputs are the order's now
  Order order;
  std::vector<protocol::Feed> feeds;
};

/// Errors: kNotFound (model), kInvalidArgument, naming what was expected.
core::Result<ChainPlan> plan_chain(ChainRequest request, ModelHub& hub);

/// Its job without money, and what opens c_0. `noise_key`: as chain::noise_chain's.
chain::ChainRecord record_of(const ChainPlan& plan, const core::Digest& input_salt,
                             const core::Digest& noise_key, const crypto::Address& client,
                             const crypto::Address& provider, const crypto::Address& auditor);

}  // namespace commensal::gateway
